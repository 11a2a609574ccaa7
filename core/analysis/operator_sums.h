/*
 * Self and total times of a framework's operators, summed over steps. A run of an operator is a
 * span: see spans.h.
 */
#ifndef CORE_OPERATOR_SUMS_H
#define CORE_OPERATOR_SUMS_H

#include "core/analysis/spans.h"
#include "core/util/map.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

struct operator_sum {
	uint32_t name;			/* in the caller's texts */
	uint64_t n;			/* runs in which something was called */
	uint64_t gpu_ns, self_gpu_ns;	/* of work launched within it; without inner operators */
	uint64_t host_ns, self_host_ns; /* of its spans; without those of operators within it */
};

/* All zeros is a valid start. */
struct operator_sums {
	struct map place; /* name -> index in `at` */
	VEC(struct operator_sum) at;
	VEC(uint32_t) open; /* indexes in spans->at */
};

/*
 * A thread's spans. `gpu_ns`: of the work of each of the step's calls, with one more at the end;
 * sums from the first on.
 */
void operator_sums_add(struct operator_sums *s, const struct span_list *spans,
		       const uint64_t *gpu_ns, struct strtab *texts);
void operator_sums_free(struct operator_sums *s);

#endif
