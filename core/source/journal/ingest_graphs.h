/*
 * The GPU work of CUDA graphs in a step, which gets the calls that were captured. Only for
 * ingest_build.c.
 */
#ifndef CORE_INGEST_GRAPHS_H
#define CORE_INGEST_GRAPHS_H

#include "core/source/journal/ingest.h"

/* A launch of an executable graph. `call`: its index in `calls` of the step. */
struct graph_launch {
	uint32_t call;
	uint64_t ticks, exec;
};

/* All zeros is a step without graphs. */
struct ingest_graphs {
	VEC(struct graph_launch) launches; /* sorted by `call` */
	VEC(struct graph_work) works;
	VEC(uint32_t) index; /* of each of `works`: its index in `works` of the step */
};

void ingest_graphs_launch(struct ingest_graphs *s, uint32_t call, const struct rec_call *c);

/* Ignores work that is of no graph. `call`: MODEL_NO_CALL: unknown. `g` must stay. */
void ingest_graphs_work(struct ingest_graphs *s, const struct rec_gpu *g, uint32_t call,
			size_t index);

/* Sets `captured` and `graphs` of the step, and `origin` of its works. Frees `s`. */
void ingest_graphs_build(struct ingest *f, struct ingest_graphs *s, struct model_step *m);

#endif
