/*
 * Finds the code of the calls that became nodes of CUDA graphs. The calls are analyzed as if they
 * were a step of their own, in the order in which they were captured. So a graph's kernels get the
 * operators, modules, phases and forward lines that they have in a run without graphs.
 */
#ifndef CORE_CAPTURED_H
#define CORE_CAPTURED_H

#include "core/analysis/call_code.h"

/* The code of a captured call. */
struct captured_code {
	uint32_t site, forward_site; /* as in struct timeline_call */
	/* Rows of module_sums. `module`: the module that made the call; `tied_module`: that of the
	 * forward operator that caused a call of the backward pass. 0: none. */
	uint32_t module, tied_module;
	uint8_t part; /* enum phase_part */
};

/* All zeros is a valid start. */
struct captured {
	struct model_step m;   /* the captured calls as a step, without GPU work */
	VEC(uint32_t) call_of; /* by call of `m`: its index in t->captured */
	struct call_code code; /* of the calls of `m` */
	/* By captured call of the step that was analyzed last. */
	VEC(struct captured_code) at;
	VEC(uint8_t) part_of_call;
};

/* Analyzes m->captured. `first`: index in t->captured of the step's first captured call. */
void captured_find(struct captured *c, struct timeline *t, const struct model_step *m,
		   uint32_t first);

/* Adds the GPU time of the step's captured calls to the sums of operators and modules in `t`. An
 * operator or module counts once per replay. It takes no CPU time, because that was spent in the
 * capture. */
void captured_add_sums(struct captured *c, struct timeline *t, const struct model_step *m,
		       uint32_t first);
void captured_free(struct captured *c);

#endif
