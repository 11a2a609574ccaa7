/* Whether a call and work can be of one another: what was asked for, and when. */
#ifndef CORE_PAIR_AGREE_H
#define CORE_PAIR_AGREE_H

#include "core/pair/pair_sides.h"

/* Whether work j has another call already does not matter. */
bool pair_could_agree(const struct sides *s, size_t i, size_t j);

static inline bool pair_agree(const struct sides *s, size_t i, size_t j)
{
	return s->groups.at[j].at == PAIR_NO_CALL && pair_could_agree(s, i, j);
}

/* A copy of nothing has no work; a batch of boxes says no bytes either, and has. */
bool pair_may_lack_size(const struct sides *s, size_t i, size_t j);

/* The work began before the call: it is of no later call either. */
static inline bool pair_is_before(const struct sides *s, size_t i, size_t j)
{
	return s->groups.at[j].begin_ticks + s->clocks_differ_ticks <
	       s->calls.at[i].call->begin_ticks;
}

#endif
