/*
 * The opening: from the first CUDA call on, everything is recorded, until the schedule's steps are
 * over or a limit is reached (PROF_OPENING). So a program that ends before its steps are detected
 * has a full recording, and steps that the schedule wants are recorded even if they are over before
 * steps are detected.
 *
 * CUPTI runs during the opening and is taken down afterwards. cuptiFinalize() breaks executable
 * graphs, and CUPTI cannot be taken down once there are graphs. So GPU timing ends before the first
 * graph is captured or made; calls and stacks are still recorded. Once graphs are launched again
 * and again, GPU timing begins again, because the program may end before the schedule's steps.
 * CUPTI then stays, as it would after these steps. So GPU timing waits if these steps come long
 * after the opening: launches would be slower until then.
 */
#ifndef PRELOAD_OPENING_H
#define PRELOAD_OPENING_H

#include "core/runtime/opening.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { OPENING_GRAPHS = 64 };

enum opening_gpu {
	OPENING_GPU_OFF,
	OPENING_GPU_UNTIL_GRAPH,
	OPENING_GPU_STOPS, /* CUPTI is being taken down */
	OPENING_GPU_WAITS, /* for graphs that are launched again and again */
	OPENING_GPU_STAYS,
};

/* How far the program is: the time, the chunks of the journal taken so far, and the step. */
struct opening_look {
	uint64_t ticks, chunks, step;
};

struct opening {
	_Atomic uint8_t gpu;	   /* enum opening_gpu */
	struct opening_look first; /* look of opening_reaches(); ticks 0: there was none */
	/* launches of graphs since the last call that captured, made or changed one */
	_Atomic uint32_t n_launches;
	/* executable graphs that were launched while GPU timing waits, by their hashes */
	_Atomic uint64_t launched[OPENING_GRAPHS];
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

/* Leaves GPU timing on throughout the opening, because the schedule records every step. */
static inline void opening_leave_gpu(struct opening *o)
{
	atomic_store(&o->gpu, OPENING_GPU_STAYS);
}

/* Returns whether the opening has GPU timing. */
static inline bool opening_has_gpu(const struct opening *o)
{
	enum opening_gpu gpu =
		(enum opening_gpu)atomic_load_explicit(&o->gpu, memory_order_relaxed);
	return gpu == OPENING_GPU_UNTIL_GRAPH || gpu == OPENING_GPU_STAYS;
}

/*
 * opening_before_graph: called before each call that captures, makes, changes or launches a graph.
 * Returns whether the caller must end GPU timing, and then call opening_has_stopped(). Any thread.
 */
bool opening_before_graph(struct opening *o, bool is_launch);
void opening_has_stopped(struct opening *o);

static inline bool opening_waits(const struct opening *o)
{
	return atomic_load_explicit(&o->gpu, memory_order_relaxed) == OPENING_GPU_WAITS;
}

/*
 * Called before each launch of an executable graph while opening_waits() and no stream captures.
 * Returns whether the caller must begin GPU timing. `may_begin`: it may, if the graph is launched
 * again. One thread at a time.
 */
bool opening_before_launch(struct opening *o, uint64_t exec, bool may_begin);

/*
 * Returns whether step `step` begins before the opening ends, if the steps until then take as much
 * time and as many chunks as those since the first call. One thread at a time.
 */
bool opening_reaches(struct opening *o, struct opening_look now, uint64_t step);

/*
 * Returns whether a limit is reached at time `ticks`, with `chunks` of the journal taken so
 * far. Call it once in STEPS_LOOK_EVERY launches of a thread. The time between two calls counts,
 * but at most a second of it: a program that loads a model or compiles code launches little.
 */
bool opening_is_used_up(struct opening *o, uint64_t ticks, uint64_t chunks);

#endif
