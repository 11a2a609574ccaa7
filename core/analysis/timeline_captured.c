/* Lines of captured calls that threads of the autograd engine made, whose stacks have no user
 * frames. */
#include "core/analysis/timeline.h"

#include "core/util/order.h"

struct use {
	uint32_t graph; /* the lowest number of the graphs that ran the call's work; 0: none */
	uint32_t call;	/* index in calls + 1 of the graph's first launch; 0: unknown */
};

/* Returns the uses of the captured calls. The caller frees the array. */
static struct use *find_uses(const struct timeline *t, uint32_t first_captured, uint32_t first_work)
{
	struct use *uses = mem_zero((t->captured.n - first_captured) * sizeof(*uses));
	for (size_t i = first_work; i < t->works.n; i++) {
		const struct timeline_work *w = &t->works.at[i];
		if (w->origin == MODEL_NO_CALL)
			continue;
		struct use *u = &uses[w->origin - first_captured];
		u->graph = u->graph && u->graph < w->graph ? u->graph : w->graph;
		if (!u->call && w->call != MODEL_NO_CALL)
			u->call = w->call + 1;
	}
	return uses;
}

static uint32_t launch_site(struct timeline *t, const struct use *u)
{
	uint32_t site = u->call ? t->calls.at[u->call - 1].site : 0;
	return site && timeline_is_user_line(t, site) ? site : 0;
}

/*
 * As for other calls, the line is that of the user's last call within backward() before, if it was
 * captured into the same graph. make_graphed_callables() captures no such call; then it is the line
 * that launches the graph, which calls backward(), too.
 */
void timeline_lend_sites(struct timeline *t, uint32_t first_captured, uint32_t first_work)
{
	size_t n = t->captured.n - first_captured;
	if (!n)
		return;
	struct use *uses = find_uses(t, first_captured, first_work);
	struct order_key *keys = mem_resize(NULL, n * sizeof(*keys));
	uint32_t graph = 0, backward_site = 0;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct order_key){ t->captured.at[first_captured + i].begin_ns, i };
	order_sort(keys, n);
	for (size_t i = 0; i < n; i++) {
		struct timeline_call *c = &t->captured.at[first_captured + keys[i].index];
		const struct use *u = &uses[keys[i].index];
		if (u->graph && u->graph != graph)
			backward_site = 0;
		graph = u->graph ? u->graph : graph;
		if (timeline_calls_backward(t, c->site, c->about)) {
			backward_site = c->site;
		} else if (timeline_lacks_line(t, c->site, c->about)) {
			uint32_t lent = backward_site ? backward_site : launch_site(t, u);
			c->site = lent ? lent : c->site;
		}
	}
	free(uses);
	free(keys);
}
