/* See flow.h. Splits the instructions into blocks. */
#include "core/flow/flow_parts.h"
#include "core/util/bisect.h"

/* Returns the index of the instruction at `place`; `n`: there is none. */
static size_t find(const struct flow_instruction *at, size_t n, uint64_t place)
{
	size_t i = bisect(n, k, at[k].at < place);
	return i < n && at[i].at == place ? i : n;
}

/* Returns whether instruction i ends a block: i + 1 is another one, with other successors. */
static bool ends_block(const struct flow_instruction *at, size_t i)
{
	return at[i].target != FLOW_NO_TARGET || !at[i].falls_through ||
	       at[i].handler != at[i + 1].handler;
}

/* Returns the index of the instruction that handles exceptions at `i`, `n` for none. */
static size_t find_handler(const struct flow_instruction *at, size_t n, size_t i)
{
	return at[i].handler ? find(at, n, at[i].handler) : n;
}

/*
 * Numbers the blocks: block_of[i] is the block of instruction i. Writes to `target` the index of
 * the instruction that each one jumps to, `n` for none. Returns the number of blocks.
 */
static uint32_t find_blocks(const struct flow_instruction *at, size_t n, size_t *target,
			    uint32_t *block_of)
{
	uint32_t block = 0;
	memset(block_of, 0, n * sizeof(*block_of));
	for (size_t i = 0; i < n; i++) {
		target[i] = at[i].target == FLOW_NO_TARGET ? n : find(at, n, at[i].target);
		if (target[i] < n)
			block_of[target[i]] = 1;
		bool is_first = !i || at[i].handler != at[i - 1].handler;
		size_t handler = is_first ? find_handler(at, n, i) : n;
		if (handler < n)
			block_of[handler] = 1;
		if (i + 1 < n && ends_block(at, i))
			block_of[i + 1] = 1;
	}
	block_of[0] = 0;
	for (size_t i = 0; i < n; i++) {
		block += block_of[i];
		block_of[i] = block;
	}
	return block + 1;
}

static void add_edges(struct flow *f, const struct flow_instruction *at, size_t n,
		      const size_t *target, const uint32_t *block_of)
{
	uint32_t n_edges = 0, block = 0;
	f->g.next.first[0] = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || block_of[i] != block)
			f->begin[block_of[i]] = at[i].at;
		block = block_of[i];
		f->last[block] = at[i].at;
		f->leaves |= at[i].leaves;
		if (i + 1 < n && block_of[i + 1] == block)
			continue;
		f->is_check[block] = at[i].is_check;
		if (at[i].falls_through && i + 1 < n)
			f->g.next.to[n_edges++] = block_of[i + 1];
		if (target[i] < n)
			f->g.next.to[n_edges++] = block_of[target[i]];
		size_t handler = find_handler(at, n, i);
		f->has_handler[block] = handler < n;
		if (handler < n)
			f->g.next.to[n_edges++] = block_of[handler];
		f->g.next.first[block + 1] = n_edges;
	}
}

struct flow *flow_new(const struct flow_instruction *at, size_t n, bool is_coarse)
{
	if (!n || n >= GRAPH_NONE / 2)
		return NULL;
	size_t *target = mem_resize(NULL, n * sizeof(*target));
	uint32_t *block_of = mem_resize(NULL, n * sizeof(*block_of));
	struct flow *f = mem_zero(sizeof(*f));
	size_t blocks = f->g.n = find_blocks(at, n, target, block_of);
	f->is_coarse = is_coarse;
	f->begin = mem_resize(NULL, blocks * sizeof(*f->begin));
	f->last = mem_resize(NULL, blocks * sizeof(*f->last));
	f->is_check = mem_zero(blocks * sizeof(*f->is_check));
	f->has_handler = mem_zero(blocks * sizeof(*f->has_handler));
	f->g.next.first = mem_resize(NULL, (blocks + 1) * sizeof(*f->g.next.first));
	f->g.next.to = mem_resize(NULL, 3 * blocks * sizeof(*f->g.next.to));
	add_edges(f, at, n, target, block_of);
	free(target);
	free(block_of);
	graph_find_loops(&f->g);
	flow_find_retries(f);
	return f;
}

void flow_join_copied_tests(struct flow *f)
{
	if (f->is_coarse || !graph_join_copied_tests(&f->g, f->has_handler))
		return;
	free(f->is_retry);
	f->is_retry = NULL;
	flow_find_retries(f);
}

void flow_free(struct flow *f)
{
	if (!f)
		return;
	graph_free(&f->g);
	free(f->begin);
	free(f->last);
	free(f->is_check);
	free(f->has_handler);
	free(f->is_retry);
	vec_free(&f->copies);
	free(f);
}
