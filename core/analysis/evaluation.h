/*
 * Finds evaluations that a loop runs before its training pass, in the same step. Some training
 * passes have several parts, such as a second branch or a teacher model. An evaluation differs from
 * such a part in two ways: it keeps nothing for a backward pass, and the loop calls a separate
 * function for it.
 */
#ifndef CORE_EVALUATION_H
#define CORE_EVALUATION_H

#include "core/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Sets is_eval[i] if calls[i] belongs to an evaluation. `calls` are the `n` calls of a thread that
 * belong to forward passes, in order of time, all before the thread's backward pass, which begins
 * at `backward_ns`. All entries of `is_eval` must be false before.
 */
void evaluation_find(const struct model_step *m, struct frames *frames, uint32_t thread,
		     const uint32_t *calls, size_t n, uint64_t backward_ns, bool *is_eval);

#endif
