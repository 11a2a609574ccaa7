/*
 * Where one step ends and the next begins, and what the schedule wants there. Counting is on the hot path (one compare per
 * launch); crossing a boundary is not: it may switch GPU timing on and off.
 */
#ifndef PRELOAD_STEPS_H
#define PRELOAD_STEPS_H

#include "core/config.h"
#include "core/schedule.h"
#include "core/trigger.h"
#include "preload/hook.h"

/* Launches of a thread between two looks at whether steps go on: a look costs some nanoseconds. */
#define STEPS_LOOK_EVERY 1024u

void steps_notice(uint64_t hash, bool is_anchor);

/* A launch or copy is about to be made. `is_anchor`: by its kernel's name or its graph, it begins a step. */
HOT static inline void steps_token(uint64_t token, bool is_anchor)
{
	uint64_t hash = token_window_push(&hook_thread.window, token);
	if (UNLIKELY(hash ==
		     atomic_load_explicit(&hook_switch.steps.anchor, memory_order_relaxed)) ||
	    UNLIKELY(hash ==
		     atomic_load_explicit(&hook_switch.steps.backup, memory_order_relaxed)) ||
	    UNLIKELY(is_anchor) ||
	    UNLIKELY(atomic_load_explicit(&hook_switch.steps.attention, memory_order_relaxed)) ||
	    UNLIKELY(!(++hook_thread.tokens % STEPS_LOOK_EVERY)))
		steps_notice(hash, is_anchor);
}

/* PROF_STEP=graph: whether launching `exec` begins a step. */
bool steps_is_anchor_graph(uint64_t exec);

/* PROF_STEP=nvtx: whether ranges of that name begin steps; one begins now. Not within a hooked call. */
bool steps_is_anchor_range(const char *domain, const char *name);
void steps_range(void);

/* Sets everything up from the settings and opens the first step. At arming. */
void steps_start(const struct config_step *step, const struct schedule *schedule,
		 const struct trigger_config *trigger);

/* A synchronisation has returned (PROF_STEP=sync, time). */
void steps_synced(void);

/* Whether a synchronising call has to call steps_synced. */
bool steps_wants_syncs(void);

/* cudaProfilerStart and Stop (PROF_STEP=api). */
void profiler_started(void);
void profiler_stopped(void);

/* The process ends: says so if the last step has ended too, since no launch will come to begin another. */
void steps_finish(void);

/* Forgets everything, in a forked child. */
void steps_forget(void);

#endif
