/*
 * The calls that became nodes of CUDA graphs, and the kernels of replays that are their nodes. The
 * capture may be in the trace itself, or in a trace of its own: those in the folder
 * "capture_traces" next to the trace are read. A trace does not say which node a kernel is. A
 * replay belongs to a capture that has as many nodes, of the same names where the trace says what a
 * call launched; its kernels are the nodes in the order in which they begin.
 */
#ifndef CORE_KINETO_CAPTURES_H
#define CORE_KINETO_CAPTURES_H

#include "core/source/kineto/stacks.h"
#include "core/source/kineto/trace.h"

/* A call that was captured. `name`, `kernel`: in `tables.names`; `kernel`: what it launched; 0: not
 * said. `product`: index + 1 in captures.products of the operator that made the call; 0: its
 * arithmetic is not known. */
struct captured_call {
	uint32_t name, kernel, stack, product;
};

/* The calls of one capture: from `first` on in captures.calls, in the order of the capture. */
struct capture {
	uint32_t first, n;
	bool is_named; /* the kernels of all calls are known */
};

struct captures {
	VEC(struct captured_call) calls;
	VEC(struct capture) at;
	VEC(struct model_library) products;
	/* of each work of the trace: index in `calls` of its node's call; MODEL_NO_CALL: none */
	uint32_t *origin_of;
	uint32_t n_unread; /* files of "capture_traces" that could not be read */
};

/* Marks the calls that a stream captured: they launch nothing. `call_of`: of each work its index in
 * t->calls, or MODEL_NO_CALL. */
void captures_mark(struct trace *t, const uint32_t *call_of);

/* `t`: marked, with shapes (shapes_find()), and read from `path`; `stacks`: its stacks. Free it
 * with captures_free(). */
void captures_find(struct captures *c, struct trace *t, struct stacks *stacks,
		   const uint32_t *call_of, const char *path);
void captures_free(struct captures *c);

/* Returns the capture that has the call `call`, an index in c->calls. */
const struct capture *captures_of_call(const struct captures *c, uint32_t call);

#endif
