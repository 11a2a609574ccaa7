/* Sums the launches of executable CUDA graphs. */
#include "core/analysis/summary.h"

struct graph_sum {
	uint32_t graph, n_nodes, n_steps, last_step;
	uint64_t n, busy_ns, idle_ns;
	/* What all captured calls so far have in common. `stack`: that of the first one; 0: none so
	 * far. Its last `n_common` frames are common, the outermost ones. `is_of_function`: the
	 * next frames of all stacks are in the same function, at different lines. */
	uint32_t stack, module;
	size_t n_common;
	bool is_of_function;
	struct map launches; /* site -> number of launches from it */
	uint32_t site;	     /* the one with most launches */
	struct sample *step_ms, *interval_ms;
	uint64_t last_begin_ns; /* of the work of the last launch */
};

struct graph_sums {
	struct map place;
	VEC(struct graph_sum) at;
};

static struct graph_sum *sum_of(struct graph_sums *s, uint32_t graph)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, graph, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, (struct graph_sum){ .graph = graph, .last_step = UINT32_MAX });
		s->at.at[*at].step_ms = mem_zero(sizeof(struct sample));
		s->at.at[*at].interval_ms = mem_zero(sizeof(struct sample));
	}
	return &s->at.at[*at];
}

/* ---- Captured calls ---- */

static void keep_common(struct graph_sum *s, struct frame_list a, struct frame_list b)
{
	size_t n = 0, most = s->n_common;
	while (n < most && n < b.n && a.at[a.n - 1 - n] == b.at[b.n - 1 - n])
		n++;
	if (n == a.n || n == b.n)
		s->is_of_function = false;
	else if (n < most || s->is_of_function)
		s->is_of_function =
			frames_are_of_one_function(a.at[a.n - 1 - n], b.at[b.n - 1 - n]);
	s->n_common = n;
}

/* Adds a captured call. The stacks of autograd's threads do not show who captured. */
static void add_code(struct graph_sum *s, struct timeline *t, const struct timeline_call *c)
{
	if (!c->stack || c->about & ABOUT_WORKER || c->stack == s->stack)
		return;
	uint32_t module = timeline_stack(t, c->stack).module;
	struct frame_list list = frames_of(t->frames, c->stack);
	if (s->stack) {
		s->module = module_sums_common(&t->modules, s->module, module);
		keep_common(s, frames_of(t->frames, s->stack), list);
	} else {
		s->stack = c->stack;
		s->module = module;
		s->n_common = list.n;
	}
}

/* Returns the user's innermost line of the common frames, or if there is none, another Python line.
 * If the calls are on several lines of one function, returns the first of them. */
static const struct frame *captured_at(const struct graph_sum *s, struct frames *frames)
{
	const struct frame *other = NULL;
	if (!s->stack)
		return NULL;
	struct frame_list list = frames_of(frames, s->stack);
	for (size_t i = list.n - s->n_common - s->is_of_function; i < list.n; i++) {
		const struct frame *f = list.at[i];
		if (f->line && !f->is_library)
			return f;
		if (f->line && f->kind == FRAME_KIND_PYTHON && !other)
			other = f;
	}
	return other;
}

/* ---- Launches ---- */

/* Adds the works of one launch, which are sorted by their start. */
static void add_works(struct graph_sum *s, struct timeline *t, const struct timeline_call *c)
{
	uint64_t until_ns = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->n_work; i++) {
		const struct timeline_work *w = &t->works.at[t->work_of_call.at[c->first_work + i]];
		uint64_t from_ns = w->begin_ns > until_ns ? w->begin_ns : until_ns;
		if (w->graph != s->graph)
			continue;
		s->idle_ns += n++ && w->begin_ns > until_ns ? w->begin_ns - until_ns : 0;
		s->busy_ns += w->end_ns > from_ns ? w->end_ns - from_ns : 0;
		until_ns = w->end_ns > until_ns ? w->end_ns : until_ns;
		if (w->origin != MODEL_NO_CALL)
			add_code(s, t, &t->captured.at[w->origin]);
	}
	s->n_nodes = n > s->n_nodes ? n : s->n_nodes;
}

static void add_launch(struct graph_sum *s, struct timeline *t, const struct timeline_call *c)
{
	const struct timeline_step *step = &t->steps.at[c->step];
	uint64_t *n = map_at(&s->launches, c->site, NULL);
	const uint64_t *most = map_find(&s->launches, s->site);
	++*n;
	if (!s->n++ || *n > *most)
		s->site = c->site;
	add_works(s, t, c);
	uint64_t before_ns = s->last_begin_ns;
	s->last_begin_ns = t->works.at[t->work_of_call.at[c->first_work]].begin_ns;
	if (s->last_step == c->step) {
		if (!step->is_whole_run && s->last_begin_ns > before_ns)
			sample_add(s->interval_ms, (double)(s->last_begin_ns - before_ns) / 1e6);
		return;
	}
	s->last_step = c->step;
	s->n_steps++;
	if (!step->is_whole_run)
		sample_add(s->step_ms, (double)(step->end_ns - step->begin_ns) / 1e6);
}

static void sum_launches(struct graph_sums *sums, struct timeline *t)
{
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		const struct timeline_work *w =
			c->n_work ? &t->works.at[t->work_of_call.at[c->first_work]] : NULL;
		if (w && w->graph)
			add_launch(sum_of(sums, w->graph), t, c);
	}
}

/* ---- Rows ---- */

static int by_time(const void *a, const void *b)
{
	const struct finding_graph *x = a, *y = b;
	double of_x = x->gpu_ms * x->per_step, of_y = y->gpu_ms * y->per_step;
	if (of_x < of_y || of_x > of_y)
		return of_x > of_y ? -1 : 1;
	return x->graph < y->graph ? -1 : x->graph > y->graph;
}

void summary_fill_graphs(struct findings *f)
{
	struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	struct graph_sums sums = { 0 };
	sum_launches(&sums, t);
	for (size_t i = 0; i < sums.at.n; i++) {
		struct graph_sum *s = &sums.at.at[i];
		vec_push(&f->graphs,
			 (struct finding_graph){
				 .graph = s->graph,
				 .captured = captured_at(s, t->frames),
				 .module = module_sums_chain(&t->modules, &t->texts, s->module),
				 .launch_site = s->site,
				 .per_step = (double)s->n / steps,
				 .nodes = s->n_nodes,
				 .gpu_ms = (double)s->busy_ns / 1e6 / (double)s->n,
				 .idle_ms = (double)s->idle_ns / 1e6 / (double)s->n,
				 .n_steps = s->n_steps,
				 .step_ms = sample_percentile(s->step_ms, 0.5),
				 .interval_ms = sample_percentile(s->interval_ms, 0.5),
			 });
		map_free(&s->launches);
		free(s->step_ms);
		free(s->interval_ms);
	}
	if (f->graphs.n)
		qsort(f->graphs.at, f->graphs.n, sizeof(*f->graphs.at), by_time);
	vec_free(&sums.at);
	map_free(&sums.place);
}
