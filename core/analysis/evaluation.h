/*
 * Finds evaluations that a loop runs before its training pass, in the same step. Unlike a part of
 * the training pass (a second branch, a teacher), they keep nothing for a backward pass, and the
 * loop calls a separate function for them.
 */
#ifndef CORE_EVALUATION_H
#define CORE_EVALUATION_H

#include "core/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * `calls`: a thread's `n` calls of forward passes, in order, all before its backward pass, which
 * begins at `backward_ns`. Sets `is_eval` for calls of evaluations; the other entries must be false
 * already.
 */
void evaluation_find(const struct model_step *m, struct frames *frames, uint32_t thread,
		     const uint32_t *calls, size_t n, uint64_t backward_ns, bool *is_eval);

#endif
