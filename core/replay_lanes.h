/* Which threads take turns: those whose calls never overlap act as one, and are one lane of the replay. */
#ifndef CORE_REPLAY_LANES_H
#define CORE_REPLAY_LANES_H

#include "core/timeline.h"

/* More threads than these share the last lanes. */
enum { REPLAY_LANES_MOST = 32 };

/* Fills lane_of[threads.n]; returns how many lanes there are, at least one. Lane 0 has the most calls. */
uint32_t replay_find_lanes(const struct timeline *t, uint8_t *lane_of);

#endif
