/* See analyzer.h. */
#include "core/analysis/analyzer.h"

#include "core/analysis/step_loop.h"

void analyzer_start(struct analyzer *a, const struct tables *tables, struct frames *frames)
{
	memset(a, 0, sizeof(*a));
	timeline_start(&a->timeline, tables, frames);
	a->idle = idle_tracker_new();
}

void analyzer_free(struct analyzer *a)
{
	for (size_t i = 0; i < a->threads.room && a->threads.at; i++) {
		span_list_free(&a->threads.at[i].spans);
		vec_free(&a->threads.at[i].modules.at);
	}
	vec_free(&a->threads);
	vec_free(&a->forward_site);
	vec_free(&a->is_backward);
	idle_step_free(&a->idle_step);
	phases_free(&a->phases);
	spans_free(&a->spans);
	modules_free(&a->modules);
	autograd_map_free(&a->autograd_map);
	idle_tracker_free(a->idle);
	timeline_free(&a->timeline);
}

void analyzer_restart(struct analyzer *a)
{
	const struct tables *tables = a->timeline.tables;
	struct frames *frames = a->timeline.frames;
	uint32_t pid = a->timeline.pid;
	analyzer_free(a);
	analyzer_start(a, tables, frames);
	a->timeline.pid = pid;
}

/* ---- Threads ---- */

/* Sets the number of threads. Slots of earlier steps keep their allocations, so that later steps
 * can reuse them; new slots are zeroed. */
static void make_threads(struct analyzer *a, size_t n)
{
	size_t room = a->threads.at ? a->threads.room : 0;
	a->threads.n = 0;
	vec_reserve(&a->threads, n);
	memset(a->threads.at + room, 0, (a->threads.room - room) * sizeof(*a->threads.at));
	a->threads.n = n;
}

static void find_spans(struct analyzer *a, const struct model_step *m)
{
	struct frames *frames = a->timeline.frames;
	make_threads(a, m->threads.n);
	for (size_t i = 0; i < m->threads.n; i++) {
		struct analyzed_thread *t = &a->threads.at[i];
		spans_find(&a->spans, m, i, frames, &t->spans);
		t->modules.at.n = 0;
		if (frames)
			modules_find(&a->modules, m, i, frames, &t->modules);
	}
}

/* ---- The backward pass ---- */

/* Returns the line and module of each call, by the call's index in the model. `call_of` maps that
 * index to the timeline's index. The caller frees the result. */
static struct autograd_map_place *places_of(struct analyzer *a, const struct model_step *m,
					    const uint32_t *call_of)
{
	struct timeline *t = &a->timeline;
	struct autograd_map_place *places = mem_zero((m->calls.n + 1) * sizeof(*places));
	for (size_t i = 0; i < m->calls.n; i++)
		places[i] = (struct autograd_map_place){
			t->calls.at[call_of[i]].site, timeline_stack(t, m->calls.at[i].stack).module
		};
	return places;
}

/* Fills `tied`: for each call of the backward pass, the forward line and module that caused it.
 * Sets forward_site and is_backward of the analyzer and of the timeline's calls. */
static void tie_backward(struct analyzer *a, const struct model_step *m, const uint32_t *call_of,
			 const struct autograd_map_place *places, struct autograd_map_place *tied)
{
	struct timeline *t = &a->timeline;
	a->forward_site.n = a->is_backward.n = 0;
	vec_reserve(&a->forward_site, m->calls.n);
	vec_reserve(&a->is_backward, m->calls.n);
	memset(a->is_backward.at, 0, m->calls.n * sizeof(*a->is_backward.at));
	autograd_map_begin(&a->autograd_map, m);
	for (size_t i = 0; i < m->threads.n; i++)
		autograd_map_add_thread(&a->autograd_map, m, i, &a->threads.at[i].spans, &a->phases,
					places, t->frames);
	autograd_map_end(&a->autograd_map, m, t->frames, tied, a->is_backward.at);
	for (size_t i = 0; i < m->calls.n; i++) {
		a->forward_site.at[i] = tied[i].site;
		t->calls.at[call_of[i]].forward_site = tied[i].site;
		t->calls.at[call_of[i]].is_backward = a->is_backward.at[i];
	}
	a->forward_site.n = a->is_backward.n = m->calls.n;
}

/* ---- Sums ---- */

/* Returns prefix sums of GPU time: entry i is the GPU time of all calls before call i, in ns. The
 * array has one entry more than there are calls. The caller frees it. */
static uint64_t *gpu_sums(const struct model_step *m)
{
	uint64_t *sums = mem_zero((m->calls.n + 1) * sizeof(*sums));
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->kind != WORK_SYNC && w->call < m->calls.n)
			sums[w->call + 1] += w->end_ns - w->begin_ns;
	}
	for (size_t i = 0; i < m->calls.n; i++)
		sums[i + 1] += sums[i];
	return sums;
}

static void add_modules(struct analyzer *a, const struct model_step *m, const uint64_t *gpu_ns,
			const struct autograd_map_place *places,
			const struct autograd_map_place *tied)
{
	struct timeline *t = &a->timeline;
	for (size_t i = 0; i < m->threads.n; i++)
		module_sums_add_thread(&t->modules, &a->threads.at[i].modules, &t->texts);
	for (size_t i = 0; i < m->calls.n; i++) {
		uint64_t ns = gpu_ns[i + 1] - gpu_ns[i];
		if (places[i].module)
			t->modules.at.at[places[i].module - 1].own_gpu_ns += ns;
		if (tied[i].module)
			t->modules.at.at[tied[i].module - 1].own_backward_ns += ns;
	}
}

static void add_sums(struct analyzer *a, const struct model_step *m,
		     const struct autograd_map_place *places, const struct autograd_map_place *tied)
{
	struct timeline *t = &a->timeline;
	uint64_t *gpu_ns = gpu_sums(m);
	phase_sums_add(&t->phase_sums, &a->phases, m);
	vec_push(&t->phases_of_step, (struct phase_sums){ 0 });
	phase_sums_add(&t->phases_of_step.at[t->phases_of_step.n - 1], &a->phases, m);
	for (size_t i = 0; i < m->threads.n; i++)
		operator_sums_add(&t->operators, &a->threads.at[i].spans, gpu_ns, &t->texts);
	add_modules(a, m, gpu_ns, places, tied);
	idle_sums_add(&t->idle, &a->idle_step, (uint32_t)t->steps.n - 1, t->calls.n);
	host_sums_add(&t->host, a->idle_step.host);
	free(gpu_ns);
}

static uint32_t narrow(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* Notes what the CPU did before each call of the step, and for how long it was waited for. */
static void note_before_calls(struct analyzer *a)
{
	struct timeline *t = &a->timeline;
	const struct lane_samples *s = a->idle_step.host;
	size_t first = t->steps.at[t->steps.n - 1].first_call;
	for (size_t i = 0; i < s->before.n; i++) {
		t->calls.at[first + i].before_kind = s->before.at[i].kind;
		t->calls.at[first + i].before_site = s->before.at[i].site;
	}
	const struct contention *c = a->idle_step.contention;
	for (size_t i = 0; i < c->calls.n; i++) {
		const struct waited_call *waited = &c->calls.at[i];
		t->calls.at[first + i].waited_before_ns = narrow(waited->before_all_ns);
		t->calls.at[first + i].waited_within_ns = narrow(waited->within.ns);
	}
}

/* ---- Adding a step ---- */

/* Finds out whether the loop of the steps is in a library. If it is, the library's lines are the
 * sites of this step's calls. */
static void find_loop(struct analyzer *a, const struct model_step *m)
{
	struct frames *frames = a->timeline.frames;
	const struct frame *loop = frames ? step_loop_find(m, frames) : NULL;
	if (loop && frames_add_loop(frames, loop))
		timeline_find_sites(&a->timeline);
}

const struct analyzed_step *analyzer_add(struct analyzer *a, const struct model_step *m, bool keep)
{
	struct timeline *t = &a->timeline;
	struct timeline_mark mark = timeline_mark(t);
	bool has_room = timeline_has_room(t, m);
	find_loop(a, m);
	uint32_t *call_of = timeline_add_events(t, m);
	struct autograd_map_place *tied = mem_zero((m->calls.n + 1) * sizeof(*tied));
	struct autograd_map_place *places = places_of(a, m, call_of);
	phases_find(&a->phases, m, t->frames);
	find_spans(a, m);
	tie_backward(a, m, call_of, places, tied);
	idle_explain_step(a->idle, t, mark.earlier, &a->idle_step);
	note_before_calls(a);
	t->n_cut += keep && !has_room;
	if (keep && has_room) {
		add_sums(a, m, places, tied);
	} else {
		timeline_rewind(t, &mark);
		idle_tracker_forget_step(a->idle);
	}
	free(places);
	free(tied);
	free(call_of);
	a->step = (struct analyzed_step){
		.model = m,
		.threads = a->threads.at,
		.phases = &a->phases,
		.forward_site = a->forward_site.at,
		.idle = &a->idle_step,
	};
	return &a->step;
}
