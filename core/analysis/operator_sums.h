/* Self and total times of a framework's operators, summed over steps. Each run of an operator is a
 * span (spans.h). */
#ifndef CORE_OPERATOR_SUMS_H
#define CORE_OPERATOR_SUMS_H

#include "core/analysis/spans.h"
#include "core/util/map.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

struct operator_sum {
	uint32_t name; /* in the caller's texts */
	uint64_t n;    /* number of runs that made CUDA calls */
	/* Of the work that its runs launched; self: without the work of inner operators. */
	uint64_t gpu_ns, self_gpu_ns;
	/* Of its spans; self: without the spans of inner operators. */
	uint64_t host_ns, self_host_ns;
	uint64_t self_graph_ns; /* the part of self_gpu_ns that graphs ran */
};

/* All zeros is a valid start. */
struct operator_sums {
	struct map place; /* name -> index in `at` */
	VEC(struct operator_sum) at;
	VEC(uint32_t) open; /* indexes in spans->at: the spans around the current one */
};

/*
 * Adds the spans of one thread of a step. `gpu_ns`: prefix sums of GPU time: entry i is the GPU
 * time, in ns, of all calls of the step before call i; there is one more entry than calls. Adds the
 * names of operators to `texts`. `n_works`: NULL, or if the calls were captured into graphs, the
 * number of works of each call of the model. An operator then counts once for each work of its
 * first call, and takes no CPU time.
 */
void operator_sums_add(struct operator_sums *s, const struct span_list *spans,
		       const uint64_t *gpu_ns, const uint64_t *n_works, struct strtab *texts);
void operator_sums_free(struct operator_sums *s);

#endif
