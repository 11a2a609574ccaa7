/* What the files of flow.h share. */
#ifndef CORE_FLOW_PARTS_H
#define CORE_FLOW_PARTS_H

#include "core/flow/flow.h"
#include "core/flow/graph.h"
#include "core/util/vec.h"

/* A call that the compiler has copied. */
struct call_copy {
	uint64_t at;   /* the copy */
	uint64_t of;   /* the call that it is a copy of */
	uint8_t bytes; /* length of the copy */
};

/* An array for the macros of core/util/vec.h. */
struct call_copies {
	struct call_copy *at;
	size_t n, room;
};

struct flow {
	struct graph g;
	/* of a block: the places of its first and last instruction */
	uint64_t *begin, *last;
	bool *is_check; /* of a block: it ends with a check, see struct flow_instruction */
	/* of a block: its last edge in g.next leads to a handler of exceptions */
	bool *has_handler;
	bool *is_retry; /* of a loop, see flow_is_retry(); NULL: no loop is one */
	bool is_coarse, leaves;
	struct call_copies copies; /* in ascending order of `at` */
};

/* Returns the block with the place. */
uint32_t flow_block_at(const struct flow *f, uint64_t at);

/* Fills in `is_retry`: no normal path leads from the first block of such a loop back to it. */
void flow_find_retries(struct flow *f);

#endif
