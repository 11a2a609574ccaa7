/*
 * Infers what concurrent threads wait for from each other. No CUDA call shows it (a queue, a
 * condition variable), but the time between two calls does. A thread other than the main one waits
 * once per step for its next work, in its longest pause. The main thread has waited if a long pause
 * of it ends just after a call of another thread.
 */
#ifndef CORE_REPLAY_ANCHORS_H
#define CORE_REPLAY_ANCHORS_H

#include "core/whatif/replay.h"

/* Sets `anchor` of such calls, and `gap_ns` to match. */
void replay_find_anchors(struct replay *r);

#endif
