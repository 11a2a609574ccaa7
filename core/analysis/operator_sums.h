/* Times of a framework's operators, summed over steps. A run of an operator is a
 * span: see spans.h. */
#ifndef CORE_OPERATOR_SUMS_H
#define CORE_OPERATOR_SUMS_H

#include "core/analysis/spans.h"
#include "core/util/map.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

struct operator_sum {
	uint32_t name; /* in the caller's texts */
	uint64_t n;    /* runs with calls */
	/* Of its own launches; over all operators these add up to what any operator launched. */
	uint64_t own_gpu_ns;
	uint64_t gpu_ns;  /* with those of operators within it */
	uint64_t host_ns; /* of its spans: from the first event of a run to its last call */
};

/* All zeros is a valid start. */
struct operator_sums {
	struct map place; /* name -> index in `at` */
	VEC(struct operator_sum) at;
	VEC(uint32_t) open; /* indexes in spans->at */
};

/* Adds a thread's spans. `gpu_ns`: prefix sums of the GPU time of the step's calls, one entry more
 * than there are calls. */
void operator_sums_add(struct operator_sums *s, const struct span_list *spans,
		       const uint64_t *gpu_ns, struct strtab *texts);
void operator_sums_free(struct operator_sums *s);

#endif
