/* Whether a call may have launched a piece of work: by what was asked for, and when. */
#ifndef CORE_PAIR_AGREE_H
#define CORE_PAIR_AGREE_H

#include "core/source/journal/pair_sides.h"

/* Ignores whether work j already has another call. */
bool pair_could_agree(const struct sides *s, size_t i, size_t j);

static inline bool pair_agree(const struct sides *s, size_t i, size_t j)
{
	return s->groups.at[j].at == PAIR_NO_CALL && pair_could_agree(s, i, j);
}

/*
 * Whether a copy call without a byte count may have launched work j: a copy of 0 bytes has no work,
 * but a batch of boxes gives no byte count either, and has.
 */
bool pair_may_lack_size(const struct sides *s, size_t i, size_t j);

/* Whether the work began before the call, so no later call launched it either. */
static inline bool pair_is_before(const struct sides *s, size_t i, size_t j)
{
	return s->groups.at[j].begin_ticks + s->clocks_differ_ticks <
	       s->calls.at[i].call->begin_ticks;
}

#endif
