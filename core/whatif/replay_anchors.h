/*
 * What threads that work side by side wait for from each other. No CUDA call shows it (a queue, a condition variable), but the
 * time between two calls does: a thread beside the main one waits once per step for its next work, in its longest pause, and
 * the main one has waited if a long pause of it ends just after a call of another.
 */
#ifndef CORE_REPLAY_ANCHORS_H
#define CORE_REPLAY_ANCHORS_H

#include "core/whatif/replay.h"

/* Sets `anchor` and with it `gap_ns` of such calls. */
void replay_find_anchors(struct replay *r);

#endif
