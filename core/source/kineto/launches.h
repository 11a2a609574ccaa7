/* Finds the steps of a trace that marks none, from its launches. */
#ifndef CORE_KINETO_LAUNCHES_H
#define CORE_KINETO_LAUNCHES_H

#include "core/source/kineto/trace.h"
#include "core/steps/step_search.h"

/* Steps of less confidence are not used: then the whole trace is better than a guess. */
#define LAUNCHES_SURE 0.7

/*
 * Searches the launches and copies of a trace that was sorted by nest_find(). `call_of`: of each
 * work its index in t->calls, or MODEL_NO_CALL. Returns whether steps were found with at least
 * LAUNCHES_SURE. Call step_search_free() in both cases.
 */
bool launches_find_steps(struct step_search *to, const struct trace *t, const uint32_t *call_of);

#endif
