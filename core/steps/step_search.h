/*
 * Finds the steps in the launches of a finished run, without a journal: those of a trace of another
 * tool. Uses launches alone (levels.h).
 */
#ifndef CORE_STEP_SEARCH_H
#define CORE_STEP_SEARCH_H

#include "core/steps/levels.h"
#include "core/util/vec.h"

#include <stddef.h>

struct step_search {
	VEC(uint64_t) begins_ns; /* when steps begin, in ascending order */
	struct level_choice choice;
};

/*
 * Searches `n` launches and copies; `threads`: the thread of each. Those of one thread must be in
 * order. Their times may count from any moment. Returns whether steps were found. Call
 * step_search_free() in both cases.
 */
bool step_search(struct step_search *to, const struct level_event *launches,
		 const uint32_t *threads, size_t n);
void step_search_free(struct step_search *s);

#endif
