/*
 * What the stacks of a step's calls say about the code that made them: operators, modules, phases,
 * and the forward lines of the backward pass. The calls are those of a step, or those that were
 * captured into graphs (captured.h).
 */
#ifndef CORE_CALL_CODE_H
#define CORE_CALL_CODE_H

#include "core/analysis/autograd_map.h"
#include "core/analysis/modules.h"
#include "core/analysis/phases.h"
#include "core/analysis/spans.h"
#include "core/analysis/timeline.h"

/* The ranges, operators, library functions and modules around the calls of one thread. */
struct analyzed_thread {
	struct span_list spans;
	struct module_list modules;
};

/* Results for the newest step, and caches for all steps. All zeros is a valid start. */
struct call_code {
	VEC(struct analyzed_thread) threads;
	struct phases phases;
	/* By call of the model. `places`: the call's own line and module. `tied`: for a call of the
	 * backward pass, the forward line and module that caused it; 0: not known. */
	VEC(struct autograd_map_place) places, tied;
	VEC(bool) is_backward;
	struct spans spans;
	struct modules modules;
	struct autograd_map autograd_map;
};

/*
 * Fills `c` for the calls of `m`. `calls`, `call_of`: call `i` of the model is calls[call_of[i]].
 * Sets forward_site and is_backward of `calls`, which are in `t`. The operators of earlier steps
 * may have caused a backward call of this step.
 */
void call_code_find(struct call_code *c, struct timeline *t, const struct model_step *m,
		    struct timeline_call *calls, const uint32_t *call_of);
void call_code_free(struct call_code *c);

#endif
