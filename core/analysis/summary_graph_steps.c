/*
 * Groups the recorded steps by the set of graphs that they launch. A server that decodes with
 * graphs has one graph per batch size, and others or none for prefill, so its different kinds of
 * steps are different groups. How often a step launches the graphs does not matter: requests of
 * different lengths are one group.
 */
#include "core/analysis/summary.h"

#include <string.h>

struct launched {
	VEC(uint32_t) graphs; /* of one step: one entry per launch, then ascending, each once */
	uint32_t n;	      /* launches */
};

struct group {
	struct finding_graph_steps row;
	struct sample *step_ms;
};

struct groups {
	VEC(struct group) at;
};

/* Steps with further sets of graphs are left out. */
enum { GROUPS_MOST = 1024 };

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Returns false if the graph of a launch is not known, because it has no work with GPU times. */
static bool find_graphs(struct launched *l, const struct timeline *t, const struct timeline_step *s)
{
	size_t kept = 0;
	l->graphs.n = 0;
	for (uint32_t i = s->first_call; i < s->first_call + s->n_calls; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		uint32_t graph = 0;
		if (c->category != CAT_GRAPH || c->is_captured || c->status)
			continue;
		if (c->n_work)
			graph = t->works.at[t->work_of_call.at[c->first_work]].graph;
		if (!graph)
			return false;
		vec_push(&l->graphs, graph);
	}
	l->n = (uint32_t)l->graphs.n;
	if (l->n)
		qsort(l->graphs.at, l->graphs.n, sizeof(*l->graphs.at), by_number);
	for (size_t i = 0; i < l->graphs.n; i++)
		if (!i || l->graphs.at[i] != l->graphs.at[i - 1])
			l->graphs.at[kept++] = l->graphs.at[i];
	l->graphs.n = kept;
	return true;
}

static bool is_same(const struct findings *f, const struct group *g, const struct launched *l)
{
	return g->row.n_graphs == l->graphs.n &&
	       (!l->graphs.n || !memcmp(&f->step_graphs.at[g->row.first_graph], l->graphs.at,
					l->graphs.n * sizeof(*l->graphs.at)));
}

/* Returns NULL if there are too many groups. */
static struct group *group_of(struct findings *f, struct groups *groups, const struct launched *l)
{
	struct group new = { .row = { .first_graph = f->step_graphs.n,
				      .n_graphs = l->graphs.n,
				      .least = UINT32_MAX } };
	for (size_t i = 0; i < groups->at.n; i++)
		if (is_same(f, &groups->at.at[i], l))
			return &groups->at.at[i];
	if (groups->at.n == GROUPS_MOST)
		return NULL;
	for (size_t i = 0; i < l->graphs.n; i++)
		vec_push(&f->step_graphs, l->graphs.at[i]);
	new.step_ms = mem_zero(sizeof(*new.step_ms));
	vec_push(&groups->at, new);
	return &groups->at.at[groups->at.n - 1];
}

static void add_step(struct findings *f, struct groups *groups, const struct timeline_step *s,
		     struct launched *l)
{
	if (!s->has_gpu || s->is_cut || s->is_whole_run || !find_graphs(l, f->timeline, s))
		return;
	struct group *g = group_of(f, groups, l);
	if (!g)
		return;
	g->row.n_steps++;
	g->row.least = l->n < g->row.least ? l->n : g->row.least;
	g->row.most = l->n > g->row.most ? l->n : g->row.most;
	sample_add(g->step_ms, (double)(s->end_ns - s->begin_ns) / 1e6);
}

static int by_frequency(const void *a, const void *b)
{
	const struct finding_graph_steps *x = a, *y = b;
	if (x->n_steps != y->n_steps)
		return x->n_steps > y->n_steps ? -1 : 1;
	return x->first_graph < y->first_graph ? -1 : x->first_graph > y->first_graph;
}

void summary_fill_graph_steps(struct findings *f)
{
	struct timeline *t = f->timeline;
	struct groups groups = { 0 };
	struct launched l = { 0 };
	for (size_t i = 0; f->graphs.n && i < t->steps.n; i++)
		add_step(f, &groups, &t->steps.at[i], &l);
	for (size_t i = 0; i < groups.at.n; i++) {
		struct group *g = &groups.at.at[i];
		g->row.step_ms = sample_percentile(g->step_ms, 0.5);
		vec_push(&f->graph_steps, g->row);
		free(g->step_ms);
	}
	if (f->graph_steps.n)
		qsort(f->graph_steps.at, f->graph_steps.n, sizeof(*f->graph_steps.at),
		      by_frequency);
	vec_free(&groups.at);
	vec_free(&l.graphs);
}
