/* Cuts a trace into steps of the run model. */
#ifndef CORE_KINETO_BUILD_H
#define CORE_KINETO_BUILD_H

#include "core/source/kineto/captures.h"
#include "core/source/kineto/cuts.h"
#include "core/source/kineto/live_blocks.h"
#include "core/source/kineto/trace.h"

/* A trace that is being cut. */
struct cutting {
	struct trace *t; /* sorted by nest_find() */
	struct cuts cuts;
	/* GPU work by cut: those of cut `i` are `order` from first[i] to first[i + 1]; then follow
	 * those outside all cuts */
	uint32_t *order;
	size_t *first;
	uint32_t *call_of;		 /* of each work: index in t->calls; MODEL_NO_CALL: none */
	uint32_t first_correlation;	 /* the smallest one of a call */
	uint64_t cpu_end_ns;		 /* when the last event of a CPU thread ended */
	VEC(uint32_t) ranges, operators; /* as indices in t->slices */
	VEC(struct model_earlier) tail;	 /* work of earlier cuts that ends in a later one */
	struct live_blocks blocks;
	struct captures captures;
	struct frames *frames;
	/* calls that should have GPU work and have none, and work without a call */
	uint64_t n_calls_without_work, n_works_without_call;
};

/* Finds the steps, the step of each piece of GPU work, and the calls of graphs' nodes. `t`: read
 * from `path`, with the stacks `stacks`. Free it with cutting_free(). */
void cutting_start(struct cutting *c, struct trace *t, struct frames *frames, struct stacks *stacks,
		   const char *path);
void cutting_free(struct cutting *c);
/* Frees what only cutting_build() needs. The cuts stay. */
void cutting_end(struct cutting *c);

/* Builds the model of cut `i`. Cuts must be built in order. The caller frees it with
 * model_free(). */
void cutting_build(struct cutting *c, size_t i, struct model_step *m);

#endif
