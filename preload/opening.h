/*
 * The opening: from the first CUDA call on, everything is recorded, until the schedule's steps are
 * over or a limit is reached (PROF_OPENING). So a program that ends before its steps are detected
 * has a full recording, and steps that the schedule wants are recorded even if they are over before
 * steps are detected.
 *
 * CUPTI runs during the opening and is taken down afterwards. cuptiFinalize() breaks executable
 * graphs, and CUPTI cannot be taken down once there are graphs. So GPU timing ends before the first
 * graph is captured or made; calls and stacks are still recorded.
 */
#ifndef PRELOAD_OPENING_H
#define PRELOAD_OPENING_H

#include "core/runtime/opening.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct opening {
	_Atomic bool has_gpu; /* GPU timing is not over yet */
	uint64_t most_ticks, most_chunks;
	uint64_t gap_ticks; /* the most that the time between two looks counts */
	_Atomic uint64_t used_ticks, looked_ticks;
};

/*
 * Begins the opening if `limits` has one, and returns whether it has. `ticks_per_s`: speed of
 * hook_ticks(). `chunk_bytes`: size of the journal's chunks.
 */
bool opening_start(struct opening *o, const struct opening_limits *limits, uint64_t ticks_per_s,
		   uint32_t chunk_bytes);

/*
 * Returns whether a limit is reached at time `ticks`, with `chunks` of the journal taken so
 * far. Call it once in STEPS_LOOK_EVERY launches of a thread. The time between two calls counts,
 * but at most a second of it: a program that loads a model or compiles code launches little.
 */
bool opening_is_used_up(struct opening *o, uint64_t ticks, uint64_t chunks);

#endif
