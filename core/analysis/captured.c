#include "core/analysis/captured.h"

#include "core/util/order.h"

enum { THREAD_CAPTURING, THREAD_AUTOGRAD, THREADS };

void captured_free(struct captured *c)
{
	vec_free(&c->m.threads);
	vec_free(&c->m.calls);
	vec_free(&c->call_of);
	vec_free(&c->at);
	vec_free(&c->part_of_call);
	call_code_free(&c->code);
}

/* ---- The captured calls as a step ---- */

/* Appends the calls of one kind of thread. `keys`: all captured calls in order of time. */
static void add_thread(struct captured *c, const struct timeline *t, const struct model_step *m,
		       const struct order_key *keys, uint32_t first, bool is_autograd)
{
	struct model_thread thread = { .tid = is_autograd ? THREAD_AUTOGRAD : THREAD_CAPTURING,
				       .first = c->m.calls.n };
	/* phases_find() finds the threads of the autograd engine by this name */
	snprintf(thread.name, sizeof(thread.name), "%s", is_autograd ? "pt_autograd_0" : "");
	for (size_t i = 0; i < m->captured.n; i++) {
		uint32_t index = first + keys[i].index;
		if (!(t->captured.at[index].about & ABOUT_WORKER) == is_autograd)
			continue;
		vec_push(&c->m.calls, m->captured.at[keys[i].index]);
		vec_push(&c->call_of, index);
	}
	thread.n = c->m.calls.n - thread.first;
	if (thread.n)
		vec_push(&c->m.threads, thread);
}

/* Makes c->m. A step need not contain all threads that captured, and captured calls have no thread.
 * Only autograd's threads matter, which the stacks show. */
static void make_step(struct captured *c, const struct timeline *t, const struct model_step *m,
		      uint32_t first)
{
	struct order_key *keys = mem_resize(NULL, m->captured.n * sizeof(*keys));
	uint64_t end_ns = 0;
	for (size_t i = 0; i < m->captured.n; i++) {
		const struct model_call *call = &m->captured.at[i];
		keys[i] = (struct order_key){ call->begin_ns, (uint32_t)i };
		end_ns = call->end_ns > end_ns ? call->end_ns : end_ns;
	}
	order_sort(keys, m->captured.n);
	c->m.threads.n = c->m.calls.n = c->call_of.n = 0;
	c->m.tables = m->tables;
	c->m.frames = m->frames;
	c->m.is_whole_run = true; /* nothing follows the last call */
	c->m.begin_ns = keys[0].ns;
	c->m.end_ns = end_ns;
	for (int is_autograd = 0; is_autograd < THREADS; is_autograd++)
		add_thread(c, t, m, keys, first, is_autograd);
	free(keys);
}

void captured_find(struct captured *c, struct timeline *t, const struct model_step *m,
		   uint32_t first)
{
	c->at.n = c->part_of_call.n = 0;
	if (!m->captured.n)
		return;
	make_step(c, t, m, first);
	/* Each step's captured calls are complete, so a backward call was not caused by an operator
	 * of an earlier step. */
	autograd_map_forget(&c->code.autograd_map);
	call_code_find(&c->code, t, &c->m, t->captured.at, c->call_of.at);
	vec_reserve(&c->at, m->captured.n);
	vec_reserve(&c->part_of_call, m->captured.n);
	c->at.n = c->part_of_call.n = m->captured.n;
	for (size_t i = 0; i < c->m.calls.n; i++) {
		uint32_t index = c->call_of.at[i] - first;
		c->part_of_call.at[index] = c->code.phases.part_of_call.at[i];
		c->at.at[index] = (struct captured_code){
			.site = c->code.places.at[i].site,
			.forward_site = c->code.tied.at[i].site,
			.module = c->code.places.at[i].module,
			.tied_module = c->code.tied.at[i].module,
			.part = c->part_of_call.at[index],
		};
	}
}

/* ---- Sums ---- */

/* Returns, for each captured call of the model, its index in c->m.calls. The caller frees the
 * array. */
static uint32_t *places_of(const struct captured *c, uint32_t first)
{
	uint32_t *place = mem_zero((c->call_of.n + 1) * sizeof(*place));
	for (uint32_t i = 0; i < c->call_of.n; i++)
		place[c->call_of.at[i] - first] = i;
	return place;
}

/* Fills the number and the GPU time of each call's works. */
static void sum_works(const struct captured *c, const struct model_step *m, uint32_t first,
		      uint64_t *gpu_ns, uint64_t *n_works)
{
	uint32_t *place = places_of(c, first);
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		uint32_t origin = model_work_origin(m, w);
		if (w->kind == WORK_SYNC || origin == MODEL_NO_CALL)
			continue;
		gpu_ns[place[origin]] += w->end_ns - w->begin_ns;
		n_works[place[origin]]++;
	}
	free(place);
}

void captured_add_sums(struct captured *c, struct timeline *t, const struct model_step *m,
		       uint32_t first)
{
	size_t n = c->m.calls.n;
	if (!m->captured.n)
		return;
	uint64_t *gpu_ns = mem_zero((n + 1) * sizeof(*gpu_ns));
	uint64_t *n_works = mem_zero((n + 1) * sizeof(*n_works));
	uint64_t *before_ns = mem_zero((n + 1) * sizeof(*before_ns));
	sum_works(c, m, first, gpu_ns, n_works);
	for (size_t i = 0; i < n; i++) {
		before_ns[i + 1] = before_ns[i] + gpu_ns[i];
		module_sums_add_gpu(&t->modules, c->code.places.at[i].module,
				    c->code.tied.at[i].module, gpu_ns[i], true);
	}
	for (size_t i = 0; i < c->m.threads.n; i++) {
		operator_sums_add(&t->operators, &c->code.threads.at[i].spans, before_ns, n_works,
				  &t->texts);
		module_sums_add_thread(&t->modules, &c->code.threads.at[i].modules, n_works,
				       &t->texts);
	}
	free(gpu_ns);
	free(n_works);
	free(before_ns);
}
