/*
 * See graph.h. CPython since 3.10 and optimizing compilers copy the test of a `while` to its end. A
 * `continue` may still go to the test at the begin. Then the graph has two loops: an outer one that
 * begins with the test, and an inner one that begins after it, although the source has one.
 */
#include "core/flow/graph.h"
#include "core/util/vec.h"

static bool is_in(const struct graph *g, uint32_t block, uint32_t loop)
{
	uint32_t l = g->loop_of[block];
	while (l != GRAPH_NONE && l < loop)
		l = g->around[l];
	return l == loop;
}

static bool has_edge(const struct graph *g, uint32_t from, uint32_t to)
{
	for (uint32_t e = g->next.first[from]; e < g->next.first[from + 1]; e++)
		if (g->next.to[e] == to)
			return true;
	return false;
}

/*
 * Returns the block that ends an iteration of the inner loop, if it is the only one, and if its
 * other edges leave the outer loop, too. GRAPH_NONE: it is not so. Where an exception leads says
 * nothing about a test.
 */
static uint32_t find_test(const struct graph *g, const bool *has_handler, uint32_t inner,
			  uint32_t outer)
{
	uint32_t header = g->header[inner], test = GRAPH_NONE;
	const struct edges *previous = &g->previous, *next = &g->next;
	for (uint32_t e = previous->first[header]; e < previous->first[header + 1]; e++) {
		uint32_t from = previous->to[e];
		if (!is_in(g, from, inner))
			continue;
		if (test != GRAPH_NONE)
			return GRAPH_NONE;
		test = from;
	}
	if (test == GRAPH_NONE)
		return GRAPH_NONE;
	uint32_t n_exits = 0, end = next->first[test + 1] - has_handler[test];
	for (uint32_t e = next->first[test]; e < end; e++) {
		if (next->to[e] == header)
			continue;
		if (is_in(g, next->to[e], outer))
			return GRAPH_NONE;
		n_exits++;
	}
	return n_exits ? test : GRAPH_NONE;
}

/*
 * Returns whether the outer loop begins with the same test: from its header on, all paths lead to
 * the inner loop's header or to where the test at the end leads.
 */
static bool begins_with_test(const struct graph *g, uint32_t inner, uint32_t outer, uint32_t test)
{
	bool *seen = mem_zero(g->n * sizeof(*seen)), is_same = true;
	VEC(uint32_t) todo = { 0 };
	vec_push(&todo, g->header[outer]);
	seen[g->header[outer]] = true;
	while (todo.n > 0 && is_same) {
		uint32_t block = todo.at[--todo.n];
		for (uint32_t e = g->next.first[block]; e < g->next.first[block + 1]; e++) {
			uint32_t to = g->next.to[e];
			if (has_edge(g, test, to))
				continue;
			is_same &= to != g->header[outer] && is_in(g, to, outer) &&
				   !is_in(g, to, inner);
			if (!seen[to])
				vec_push(&todo, to);
			seen[to] = true;
		}
	}
	vec_free(&todo);
	free(seen);
	return is_same;
}

bool graph_join_copied_tests(struct graph *g, const bool *has_handler)
{
	bool is_changed = false;
	for (uint32_t inner = 0; inner < g->n_loops; inner++) {
		uint32_t outer = g->around[inner];
		uint32_t test = GRAPH_NONE;
		if (outer != GRAPH_NONE)
			test = find_test(g, has_handler, inner, outer);
		if (test == GRAPH_NONE || !begins_with_test(g, inner, outer, test))
			continue;
		for (uint32_t e = g->next.first[test]; e < g->next.first[test + 1]; e++)
			if (g->next.to[e] == g->header[inner])
				g->next.to[e] = g->header[outer];
		is_changed = true;
	}
	if (is_changed) {
		graph_forget_loops(g);
		graph_find_loops(g);
	}
	return is_changed;
}
