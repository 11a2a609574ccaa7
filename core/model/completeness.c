/* See completeness.h. */
#include "core/model/completeness.h"

#include <stdbool.h>

static void add(struct launch_counts *to, const struct launch_counts *from)
{
	to->n += from->n;
	to->n_captured += from->n_captured;
	for (size_t i = 0; i < LACKS_N; i++)
		to->n_lacking[i] += from->n_lacking[i];
}

static void add_graphs(struct graph_counts *to, const struct graph_counts *from)
{
	to->n += from->n;
	to->n_named += from->n_named;
	for (size_t i = 0; i < GRAPH_LACKS_N; i++)
		to->n_lacking[i] += from->n_lacking[i];
}

void completeness_add(struct completeness *c, uint64_t step, const struct launch_counts *launches,
		      const struct graph_counts *graphs)
{
	bool continues = c->windows.n && step == c->next_step;
	add(&c->total, launches);
	add_graphs(&c->graphs, graphs);
	if (!continues && c->windows.n >= COMPLETENESS_WINDOWS)
		return;
	if (!continues)
		vec_push(&c->windows, (struct completeness_window){ .first = step });
	struct completeness_window *w = &c->windows.at[c->windows.n - 1];
	w->last = step;
	c->next_step = step + 1;
	add(&w->launches, launches);
	add_graphs(&w->graphs, graphs);
}

void completeness_free(struct completeness *c)
{
	vec_free(&c->windows);
}

enum launch_lack launch_counts_lack(const struct launch_counts *c)
{
	enum launch_lack most = LACK_UNKNOWN;
	for (enum launch_lack i = 0; i < LACKS_N; i++)
		if (c->n_lacking[i] > c->n_lacking[most])
			most = i;
	return most;
}

enum graph_lack graph_counts_lack(const struct graph_counts *c)
{
	enum graph_lack most = GRAPH_LACK_NONE;
	for (enum graph_lack i = 0; i < GRAPH_LACKS_N; i++)
		if (c->n_lacking[i] > c->n_lacking[most])
			most = i;
	return most;
}
