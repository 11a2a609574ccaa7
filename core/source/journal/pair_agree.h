/*
 * Decides whether a call may have launched a piece of GPU work, by what the call asked for and by
 * the times.
 */
#ifndef CORE_PAIR_AGREE_H
#define CORE_PAIR_AGREE_H

#include "core/source/journal/pair_sides.h"

/*
 * Returns whether call `i` may have launched group `j`. Ignores whether `j` already has another
 * call.
 */
bool pair_could_agree(const struct sides *s, size_t i, size_t j);

static inline bool pair_agree(const struct sides *s, size_t i, size_t j)
{
	return s->groups.at[j].at == PAIR_NO_CALL && pair_could_agree(s, i, j);
}

/*
 * Returns whether a copy call without a byte count may have launched group `j`. A copy of 0 bytes
 * has no work, but a batch of box copies has work although its call gives no byte count.
 */
bool pair_may_lack_size(const struct sides *s, size_t i, size_t j);

/* Returns whether the work began before the call. If so, no later call launched it either. */
static inline bool pair_is_before(const struct sides *s, size_t i, size_t j)
{
	return s->groups.at[j].begin_ticks + s->clocks_differ_ticks <
	       s->calls.at[i].call->begin_ticks;
}

#endif
