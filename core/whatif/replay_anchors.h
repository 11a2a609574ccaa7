/*
 * Infers which lanes (threads that take turns) wait for each other, and when. They wait in a queue
 * or at a condition variable, which no CUDA call shows. But the gaps between their calls show it.
 * Every lane other than the main one is assumed to wait once per step for a call of the main lane,
 * in its longest gap. The main lane is assumed to have waited for another lane if it has a long gap
 * that ends just after a call of that lane.
 */
#ifndef CORE_REPLAY_ANCHORS_H
#define CORE_REPLAY_ANCHORS_H

#include "core/whatif/replay.h"

/* Sets `anchor` of the calls that follow such a wait, and sets their gap_ns to the time since the
 * return of the awaited call. */
void replay_find_anchors(struct replay *r);

#endif
