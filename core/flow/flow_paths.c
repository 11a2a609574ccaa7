/* See flow.h. Which loops the graph has, and which paths lead through it. */
#include "core/flow/flow_parts.h"
#include "core/util/bisect.h"

uint32_t flow_block_at(const struct flow *f, uint64_t at)
{
	size_t after = bisect(f->g.n, i, f->begin[i] <= at);
	return after ? (uint32_t)after - 1 : 0;
}

uint64_t flow_place(const struct flow *f, uint64_t at)
{
	size_t after = bisect(f->copies.n, i, f->copies.at[i].at <= at);
	const struct call_copy *c = after ? &f->copies.at[after - 1] : NULL;
	return c && at - c->at < c->bytes ? c->of + (at - c->at) : at;
}

size_t flow_n_loops(const struct flow *f)
{
	return f->is_coarse ? f->g.n_loops > 0 : f->g.n_loops;
}

size_t flow_loops_around(const struct flow *f, uint64_t at, uint32_t *out, size_t most)
{
	size_t n = 0;
	uint32_t loop = f->g.loop_of[flow_block_at(f, at)];
	if (f->is_coarse && loop != GRAPH_NONE && most > 0) {
		out[0] = 0;
		return 1;
	}
	for (; loop != GRAPH_NONE && n < most; loop = f->g.around[loop])
		out[n++] = loop;
	return n;
}

/*
 * Returns the innermost loop around both blocks, GRAPH_NONE if there is none. An outer loop has the
 * higher number, and GRAPH_NONE is the highest.
 */
static uint32_t common(const struct flow *f, uint32_t p, uint32_t q)
{
	uint32_t a = f->g.loop_of[p], b = f->g.loop_of[q];
	if (f->is_coarse)
		return a != GRAPH_NONE && b != GRAPH_NONE ? 0 : GRAPH_NONE;
	while (a != b) {
		if (a < b)
			a = f->g.around[a];
		else
			b = f->g.around[b];
	}
	return a;
}

int flow_common_loop(const struct flow *f, uint64_t a, uint64_t b)
{
	uint32_t loop = common(f, flow_block_at(f, a), flow_block_at(f, b));
	return loop == GRAPH_NONE ? -1 : (int)loop;
}

int flow_outer_loop(const struct flow *f, uint32_t loop)
{
	uint32_t outer = f->is_coarse ? GRAPH_NONE : f->g.around[loop];
	return outer == GRAPH_NONE ? -1 : (int)outer;
}

/* Which edges a path may take. */
enum path { PATH_NORMAL, PATH_WITH_EXCEPTIONS };

/*
 * Returns whether `to` can be reached from `from` by one edge or more. Not through blocks that are
 * in `seen`; adds those that were reached.
 */
static bool reaches(const struct flow *f, enum path path, uint32_t from, uint32_t to, bool *seen)
{
	const struct edges *next = &f->g.next;
	VEC(uint32_t) todo = { 0 };
	bool is_found = false;
	vec_push(&todo, from);
	while (todo.n > 0 && !is_found) {
		uint32_t block = todo.at[--todo.n];
		uint32_t end =
			next->first[block + 1] - (f->has_handler[block] && path == PATH_NORMAL);
		for (uint32_t e = next->first[block]; e < end; e++) {
			uint32_t other = next->to[e];
			is_found |= other == to;
			if (!seen[other]) {
				seen[other] = true;
				vec_push(&todo, other);
			}
		}
	}
	vec_free(&todo);
	return is_found;
}

bool flow_is_forward(const struct flow *f, uint64_t a, uint64_t b)
{
	uint32_t p = flow_block_at(f, a), q = flow_block_at(f, b), loop = common(f, p, q);
	if (p == q)
		return a < b;
	if (loop == GRAPH_NONE || !f->is_coarse) {
		uint32_t header = loop == GRAPH_NONE ? GRAPH_NONE : f->g.header[loop];
		if (q == header)
			return false;
		bool *seen = mem_zero(f->g.n * sizeof(*seen));
		if (header != GRAPH_NONE)
			seen[header] = true;
		bool is_forward = reaches(f, PATH_WITH_EXCEPTIONS, p, q, seen);
		free(seen);
		return is_forward;
	}
	return false;
}

/* Adds the blocks that are not in the loop to `seen`. */
static void exclude_outside(const struct flow *f, uint32_t loop, bool *seen)
{
	bool *is_inside = mem_zero(f->g.n_loops * sizeof(*is_inside));
	is_inside[loop] = true;
	for (uint32_t l = loop; l-- > 0;)
		is_inside[l] = f->g.around[l] != GRAPH_NONE && is_inside[f->g.around[l]];
	for (uint32_t b = 0; b < f->g.n; b++)
		seen[b] = f->g.loop_of[b] == GRAPH_NONE || !is_inside[f->g.loop_of[b]];
	free(is_inside);
}

bool flow_may_repeat(const struct flow *f, uint32_t loop, uint64_t at)
{
	if (f->is_coarse || !memchr(f->has_handler, 1, f->g.n))
		return true;
	bool *seen = mem_zero(f->g.n * sizeof(*seen));
	exclude_outside(f, loop, seen);
	bool may = reaches(f, PATH_NORMAL, flow_block_at(f, at), f->g.header[loop], seen);
	free(seen);
	return may;
}

/* Returns the block of the site, or for a launch the block of the first test before it. */
static uint32_t site_block(const struct flow *f, const struct flow_site *site, uint32_t header)
{
	/* two tests where the compiler has inlined nvcc's stub */
	enum { TESTS_MOST = 2 };
	uint32_t block = flow_block_at(f, site->at);
	for (int i = 0; i < TESTS_MOST && site->is_launch && block != header; i++) {
		uint32_t before = f->g.dominator[block];
		if (before == GRAPH_NONE || !f->is_check[before])
			break;
		block = before;
	}
	return block;
}

/* Returns the same as flow_is_always(), for a loop of the graph and paths of one kind. */
static bool is_always(const struct flow *f, enum path path, uint32_t loop,
		      const struct flow_site *sites, size_t n)
{
	uint32_t header = f->g.header[loop];
	bool *seen = mem_zero(f->g.n * sizeof(*seen)), is_through = false;
	exclude_outside(f, loop, seen);
	for (size_t i = 0; i < n; i++) {
		uint32_t block = site_block(f, &sites[i], header);
		is_through |= block == header;
		seen[block] = true;
	}
	if (!is_through) {
		seen[header] = true;
		is_through = !reaches(f, path, header, header, seen);
	}
	free(seen);
	return is_through;
}

/*
 * A coarse loop consists of all outermost loops of the graph. Those without a site do not count,
 * because no call shows their iterations.
 */
static bool is_always_coarse(const struct flow *f, const struct flow_site *sites, size_t n)
{
	bool *has_site = mem_zero(f->g.n_loops * sizeof(*has_site)), is_any = false, all = true;
	for (size_t i = 0; i < n; i++) {
		uint32_t loop = f->g.loop_of[flow_block_at(f, sites[i].at)];
		while (loop != GRAPH_NONE && f->g.around[loop] != GRAPH_NONE)
			loop = f->g.around[loop];
		if (loop != GRAPH_NONE)
			has_site[loop] = is_any = true;
	}
	for (uint32_t loop = 0; loop < f->g.n_loops && all; loop++)
		all = !has_site[loop] || is_always(f, PATH_NORMAL, loop, sites, n);
	free(has_site);
	return is_any && all;
}

bool flow_is_always(const struct flow *f, uint32_t loop, const struct flow_site *sites, size_t n)
{
	enum path path = flow_is_retry(f, loop) ? PATH_WITH_EXCEPTIONS : PATH_NORMAL;
	return f->is_coarse ? is_always_coarse(f, sites, n) : is_always(f, path, loop, sites, n);
}

/* Returns whether a normal path in the loop leads from one block to another without a site. */
static bool avoids(const struct flow *f, uint32_t loop, uint32_t from, uint32_t to,
		   const struct flow_site *sites, size_t n)
{
	bool *seen = mem_zero(f->g.n * sizeof(*seen));
	exclude_outside(f, loop, seen);
	for (size_t i = 0; i < n; i++)
		seen[site_block(f, &sites[i], f->g.header[loop])] = true;
	bool is = reaches(f, PATH_NORMAL, from, to, seen);
	free(seen);
	return is;
}

bool flow_is_between(const struct flow *f, uint32_t loop, uint64_t at,
		     const struct flow_site *sites, size_t n)
{
	uint32_t block = flow_block_at(f, at);
	if (f->is_coarse)
		return false;
	uint32_t header = f->g.header[loop];
	for (size_t i = 0; i < n; i++) {
		uint32_t site = site_block(f, &sites[i], header);
		if (site == block || site == header)
			return true;
	}
	return !avoids(f, loop, block, header, sites, n) ||
	       (block != header && !avoids(f, loop, header, block, sites, n));
}

/* Returns whether the function may end after `from`, without the blocks in `avoid`. */
static bool may_end(const struct flow *f, uint32_t from, const bool *avoid)
{
	bool *seen = mem_zero(f->g.n * sizeof(*seen)), ends = false;
	memcpy(seen, avoid, f->g.n * sizeof(*seen));
	(void)reaches(f, PATH_NORMAL, from, GRAPH_NONE, seen);
	for (uint32_t b = 0; b < f->g.n; b++) {
		uint32_t n_next = f->g.next.first[b + 1] - f->g.next.first[b] - f->has_handler[b];
		ends |= !n_next && (b == from || (seen[b] && !avoid[b]));
	}
	free(seen);
	return ends;
}

/* Returns whether the function may come to `to` after its begin, without the blocks in `avoid`. */
static bool may_come(const struct flow *f, uint32_t to, const bool *avoid)
{
	const uint32_t first = 0;
	if (to == first || avoid[first])
		return to == first;
	bool *seen = mem_zero(f->g.n * sizeof(*seen));
	memcpy(seen, avoid, f->g.n * sizeof(*seen));
	bool may = reaches(f, PATH_NORMAL, first, to, seen);
	free(seen);
	return may;
}

bool flow_call_needs(const struct flow *f, uint64_t at, const struct flow_site *sites, size_t n)
{
	if (f->is_coarse || f->leaves || !n)
		return false;
	uint32_t block = flow_block_at(f, at);
	bool *avoid = mem_zero(f->g.n * sizeof(*avoid));
	bool is_known = may_end(f, block, avoid); /* else only exceptions leave the function */
	for (size_t i = 0; i < n; i++)
		avoid[flow_block_at(f, sites[i].at)] = true;
	bool needs = avoid[block] || !may_end(f, block, avoid) || !may_come(f, block, avoid);
	free(avoid);
	return is_known && needs;
}

bool flow_always_calls(const struct flow *f, const struct flow_site *sites, size_t n)
{
	const uint32_t first = 0;
	if (f->is_coarse || f->leaves || !n)
		return false;
	bool *avoid = mem_zero(f->g.n * sizeof(*avoid));
	bool is_known = may_end(f, first, avoid);
	for (size_t i = 0; i < n; i++)
		avoid[flow_block_at(f, sites[i].at)] = true;
	bool always = avoid[first] || !may_end(f, first, avoid);
	free(avoid);
	return is_known && always;
}

bool flow_has_handler(const struct flow *f, uint64_t at)
{
	return f->has_handler[flow_block_at(f, at)];
}

bool flow_may_recover(const struct flow *f, uint32_t loop, uint64_t at)
{
	uint32_t block = flow_block_at(f, at);
	if (f->is_coarse || !f->has_handler[block])
		return f->is_coarse;
	uint32_t handler = f->g.next.to[f->g.next.first[block + 1] - 1];
	bool *seen = mem_zero(f->g.n * sizeof(*seen));
	exclude_outside(f, loop, seen);
	bool may = handler == f->g.header[loop] ||
		   (!seen[handler] &&
		    reaches(f, PATH_WITH_EXCEPTIONS, handler, f->g.header[loop], seen));
	free(seen);
	return may;
}

void flow_find_retries(struct flow *f)
{
	if (f->is_coarse || !memchr(f->has_handler, 1, f->g.n))
		return;
	f->is_retry = mem_zero(f->g.n_loops * sizeof(*f->is_retry));
	for (uint32_t loop = 0; loop < f->g.n_loops; loop++)
		f->is_retry[loop] = is_always(f, PATH_NORMAL, loop, NULL, 0);
}

bool flow_is_retry(const struct flow *f, uint32_t loop)
{
	return f->is_retry && f->is_retry[loop];
}

uint64_t flow_loop_at(const struct flow *f, uint32_t loop)
{
	/* of a coarse loop: the first block of the outermost loop that comes first in preorder */
	return f->begin[f->g.header[f->is_coarse ? f->g.n_loops - 1 : loop]];
}

/* Returns whether the block is in the loop of the graph, or in one inside it. */
static bool is_in_loop(const struct flow *f, uint32_t block, uint32_t loop)
{
	uint32_t l = f->g.loop_of[block];
	while (l != GRAPH_NONE && l < loop)
		l = f->g.around[l];
	return l == loop;
}

size_t flow_loop_ends(const struct flow *f, uint32_t loop, uint64_t *out, size_t most)
{
	const struct edges *previous = &f->g.previous;
	uint32_t header = f->g.header[loop];
	size_t n = 0;
	if (f->is_coarse)
		return 0;
	for (uint32_t e = previous->first[header]; e < previous->first[header + 1]; e++)
		if (n < most && is_in_loop(f, previous->to[e], loop))
			out[n++] = f->last[previous->to[e]];
	return n;
}

size_t flow_loop_places(const struct flow *f, uint32_t loop, uint64_t *out, size_t most)
{
	size_t n = 0;
	for (uint32_t b = 0; b < f->g.n && n + 2 <= most && !f->is_coarse; b++) {
		if (!is_in_loop(f, b, loop))
			continue;
		out[n++] = f->begin[b];
		out[n++] = f->last[b];
	}
	return n;
}

bool flow_leaves(const struct flow *f)
{
	return f->leaves;
}
