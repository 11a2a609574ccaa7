/* Finds the line of a native loop in the source, also in optimized code. */
#ifndef CORE_LOOP_LINES_H
#define CORE_LOOP_LINES_H

#include "core/flow/flow.h"
#include "core/source/journal/native.h"

struct loop_lines {
	/* Of the loop's statement. Its texts live as long as those of native_find(). */
	struct frame at;
	/* Line of the first instruction in the same function: often the body's first line. */
	uint32_t body;
	/* Where the first instruction stands, of inlined functions the innermost. */
	struct frame first;
};

/* A loop in native code, by addresses of its file. */
struct native_loop {
	uint64_t module; /* the bits of a frame that name its module */
	const struct flow *flow;
	uint32_t number;
	const struct flow_site *sites; /* calls that are known to be in it */
	size_t n_sites;
};

struct loop_lines loop_lines_find(struct native *n, const struct native_loop *l);

#endif
