/* Which part of a step the CPU time between two calls belongs to, as samples of that time show. */
#ifndef CORE_PHASE_SAMPLES_H
#define CORE_PHASE_SAMPLES_H

#include "core/symbols/phase_rules.h"

/*
 * Returns the part of the time around a sample of the main thread. `found`: what the sample's stack
 * `stack` says, which must be certain; `usual`: the part that the calls before and after it
 * suggest; `next`: the stack of the next call or, if `usual` is data loading, of the copy of a
 * batch that follows, 0: unknown. It is data loading only if the stack shows that.
 */
uint8_t phase_samples_part(struct frames *f, const struct phase_stack *found, uint32_t stack,
			   uint8_t usual, uint32_t next);

#endif
