/*
 * Evaluations that a loop makes ahead of its training pass, in the same step. They differ from a part of the training pass, as a second
 * branch or a teacher, in that they leave nothing for a backward pass, and are made by a function that the loop calls for it.
 */
#ifndef CORE_EVALUATION_H
#define CORE_EVALUATION_H

#include "core/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* `calls`: a thread's `n` calls of forward passes, in order, all of them before its backward pass, which begins at `backward_ns`. Sets
 * `is_eval` for those of evaluations; the others must be false. */
void evaluation_find(const struct model_step *m, struct frames *frames, uint32_t thread,
		     const uint32_t *calls, size_t n, uint64_t backward_ns, bool *is_eval);

#endif
