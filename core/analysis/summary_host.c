/* Sums the GPU and CPU times of lines, operators and modules. */
#include "core/analysis/summary.h"

#include "core/symbols/stack_about.h"

enum {
	/* If work begins this long after its call, the CPU is far ahead of the device. */
	BEHIND_NS = 1000000,
	ISSUE_NS = 10000, /* longest duration of a launch if the queue has room */
};

/* Returns the call's CPU time, in ns. A launch into a full queue waits for room in the queue. This
 * wait is not counted, because it is due to the work that the device is running. */
static uint64_t own_ns(const struct timeline *t, const struct timeline_call *c)
{
	uint64_t ns = c->end_ns - c->begin_ns;
	if (!c->n_work || c->wait != WAIT_NONE || ns <= ISSUE_NS)
		return ns;
	const struct timeline_work *w = &t->works.at[t->work_of_call.at[c->first_work]];
	return w->begin_ns < c->end_ns + BEHIND_NS ? ns : ISSUE_NS;
}

struct sum {
	uint32_t site;
	uint32_t module;  /* row of module_sums that contains all launches; 0: none */
	bool is_launched; /* `module` is known */
	uint64_t n_launches, gpu_ns, graph_ns, host_ns, backward_ns;
};

struct sums {
	struct map place;
	VEC(struct sum) at;
};

static struct sum *sum_of(struct sums *s, uint32_t site)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, site, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, (struct sum){ .site = site });
	}
	return &s->at.at[*at];
}

static void sums_free(struct sums *s)
{
	vec_free(&s->at);
	map_free(&s->place);
}

/* ---- Lines ---- */

static int by_line_time(const void *a, const void *b)
{
	const struct finding_line *x = a, *y = b;
	double of_x = x->gpu_ms + x->host_ms, of_y = y->gpu_ms + y->host_ms;
	return of_x > of_y ? -1 : of_x < of_y;
}

static void add_module(struct timeline *t, struct sum *s, const struct timeline_call *c)
{
	if (!category_has_work(c->category) || c->about & ABOUT_WORKER)
		return;
	uint32_t module = timeline_stack(t, c->stack).module;
	s->module = s->is_launched ? module_sums_common(&t->modules, s->module, module) : module;
	s->is_launched = true;
}

static void sum_calls(struct sums *sums, struct timeline *t)
{
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		struct sum *s = sum_of(sums, c->site);
		s->n_launches += category_is_launch(c->category) && !c->is_captured;
		s->host_ns += own_ns(t, c);
		add_module(t, s, c);
	}
	for (size_t i = 0; i < t->captured.n; i++)
		if (category_has_work(t->captured.at[i].category)) /* not host functions */
			add_module(t, sum_of(sums, t->captured.at[i].site), &t->captured.at[i]);
}

static void sum_works(struct sums *sums, struct findings *f)
{
	const struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *w = &t->works.at[i];
		const struct timeline_call *c = timeline_code(t, w);
		uint64_t ns = w->end_ns - w->begin_ns;
		if (!c)
			continue;
		struct sum *s = sum_of(sums, c->site);
		s->gpu_ns += ns;
		s->graph_ns += w->graph ? ns : 0;
		if (c->forward_site)
			sum_of(sums, c->forward_site)->backward_ns += ns;
		f->tied_gpu_ms += c->forward_site ? (double)ns / 1e6 / steps : 0;
		f->backward_gpu_ms += c->is_backward ? (double)ns / 1e6 / steps : 0;
	}
}

void summary_fill_lines(struct findings *f)
{
	struct timeline *t = f->timeline;
	struct step_counts steps = findings_count_steps(t);
	struct sums sums = { 0 };
	sum_calls(&sums, t);
	sum_works(&sums, f);
	for (size_t i = 0; i < sums.at.n; i++) {
		const struct sum *s = &sums.at.at[i];
		if (!s->site)
			continue;
		vec_push(&f->lines,
			 (struct finding_line){
				 .site = s->site,
				 .module = module_sums_chain(&t->modules, &t->texts, s->module),
				 .gpu_ms = (double)s->gpu_ns / 1e6 / steps.with_gpu,
				 .graph_gpu_ms = (double)s->graph_ns / 1e6 / steps.with_gpu,
				 .host_ms = (double)s->host_ns / 1e6 / steps.all,
				 .launches = (double)s->n_launches / steps.all,
				 .backward_gpu_ms = (double)s->backward_ns / 1e6 / steps.with_gpu,
			 });
	}
	if (f->lines.n)
		qsort(f->lines.at, f->lines.n, sizeof(*f->lines.at), by_line_time);
	sums_free(&sums);
}

/* ---- Operators ---- */

static int by_operator_time(const void *a, const void *b)
{
	const struct finding_operator *x = a, *y = b;
	if (x->self_gpu_ms != y->self_gpu_ms)
		return x->self_gpu_ms > y->self_gpu_ms ? -1 : 1;
	if (x->gpu_ms != y->gpu_ms)
		return x->gpu_ms > y->gpu_ms ? -1 : 1;
	if (x->host_ms != y->host_ms)
		return x->host_ms > y->host_ms ? -1 : 1;
	return strcmp(x->name, y->name);
}

void summary_fill_operators(struct findings *f)
{
	const struct timeline *t = f->timeline;
	struct step_counts steps = findings_count_steps(t);
	for (size_t i = 0; i < t->operators.at.n; i++) {
		const struct operator_sum *s = &t->operators.at.at[i];
		vec_push(&f->operators,
			 (struct finding_operator){
				 .name = strtab_text(&t->texts, s->name),
				 .per_step = (double)s->n / steps.all,
				 .gpu_ms = (double)s->gpu_ns / 1e6 / steps.with_gpu,
				 .host_ms = (double)s->host_ns / 1e6 / steps.all,
				 .self_gpu_ms = (double)s->self_gpu_ns / 1e6 / steps.with_gpu,
				 .graph_gpu_ms = (double)s->self_graph_ns / 1e6 / steps.with_gpu,
				 .self_host_ms = (double)s->self_host_ns / 1e6 / steps.all,
			 });
	}
	if (f->operators.n)
		qsort(f->operators.at, f->operators.n, sizeof(*f->operators.at), by_operator_time);
}

/* ---- Modules ---- */

static int by_module_time(const void *a, const void *b)
{
	const struct finding_module *x = a, *y = b;
	double of_x = x->gpu_ms + x->backward_gpu_ms, of_y = y->gpu_ms + y->backward_gpu_ms;
	if (of_x < of_y || of_x > of_y)
		return of_x > of_y ? -1 : 1;
	if (x->host_ms != y->host_ms)
		return x->host_ms > y->host_ms ? -1 : 1;
	return strcmp(x->name, y->name);
}

/*
 * Fills the rows of modules, whose GPU times include the inner modules. The row of an inner module
 * has a higher index than the row of the module around it. So the loop goes from the last row to
 * the first, and adds each row's GPU times to the row of the module around it.
 */
void summary_fill_modules(struct findings *f)
{
	struct timeline *t = f->timeline;
	struct step_counts steps = findings_count_steps(t);
	struct module_row *rows = mem_resize(NULL, (t->modules.at.n + 1) * sizeof(*rows));
	for (size_t i = 0; i < t->modules.at.n; i++)
		rows[i] = t->modules.at.at[i];
	for (size_t i = t->modules.at.n; i-- > 0;) {
		const struct module_row *r = &rows[i];
		if (r->outer) {
			rows[r->outer - 1].own_gpu_ns += r->own_gpu_ns;
			rows[r->outer - 1].own_backward_ns += r->own_backward_ns;
			rows[r->outer - 1].own_graph_ns += r->own_graph_ns;
		}
		if (!r->n && !r->own_gpu_ns && !r->own_backward_ns)
			continue; /* the module ran only in steps that were not kept */
		vec_push(&f->modules,
			 (struct finding_module){
				 .name = module_sums_chain(&t->modules, &t->texts, (uint32_t)i + 1),
				 .per_step = (double)r->n / steps.all,
				 .host_ms = (double)r->host_ns / 1e6 / steps.all,
				 .gpu_ms = (double)r->own_gpu_ns / 1e6 / steps.with_gpu,
				 .backward_gpu_ms =
					 (double)r->own_backward_ns / 1e6 / steps.with_gpu,
				 .graph_gpu_ms = (double)r->own_graph_ns / 1e6 / steps.with_gpu,
			 });
	}
	if (f->modules.n)
		qsort(f->modules.at, f->modules.n, sizeof(*f->modules.at), by_module_time);
	free(rows);
}
