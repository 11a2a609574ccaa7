/*
 * Detects where one step ends and the next begins, and applies the schedule there. Counting is on
 * the hot path (one compare per launch); crossing a boundary is not: it may switch GPU timing on
 * and off.
 */
#ifndef PRELOAD_STEPS_H
#define PRELOAD_STEPS_H

#include "core/runtime/config.h"
#include "core/runtime/schedule.h"
#include "core/runtime/trigger.h"
#include "preload/hook.h"

/* Launches of a thread between two checks whether steps still end. A check costs a few nanoseconds;
 * when another model's steps begin, the launches before the check are not counted. */
#define STEPS_LOOK_EVERY 64u

/* The function of a copy or a graph launch, which have none. */
#define STEPS_NO_FUNCTION 1u

void steps_notice(uint64_t hash, bool is_anchor, uint64_t function);

/* Adds the skipped launches to the thread's window. */
void steps_settle(void);

/* Returns whether counting may skip launches of functions other than the two that complete the
 * anchor and its backup. Nine in ten of a locked program's launches are skipped; hashing one costs
 * 7 ns. Always inlined, because GCC emits calls on a path that is marked unlikely. */
static inline bool steps_let_by(void)
{
	return atomic_load_explicit(&hook_switch.steps.passes, memory_order_relaxed);
}

__attribute__((always_inline)) static inline bool steps_passes(uint64_t function)
{
	const struct steps_hot *s = &hook_switch.steps;
	return LIKELY(function != atomic_load_explicit(&s->anchor_function, memory_order_relaxed) &&
		      function != atomic_load_explicit(&s->backup_function, memory_order_relaxed) &&
		      (hook_thread_here()->tokens + 1) % STEPS_LOOK_EVERY);
}

/* Counts a skipped launch and returns where to store it. */
__attribute__((always_inline)) static inline struct hook_passed *steps_passed(uint32_t *is_passed)
{
	struct hook_thread *t = hook_thread_here();
	*is_passed = true;
	return &t->passed[t->tokens++ % 2];
}

/* Adds skipped launches to the window before the next one is added. */
HOT static inline void steps_catch_up(void)
{
	if (UNLIKELY(hook_thread.settled != hook_thread.tokens))
		steps_settle();
}

/* `hash`: the trigram that the thread's window now ends with. */
HOT static inline void steps_pushed(uint64_t hash, bool is_anchor, uint64_t function)
{
	struct hook_thread *t = &hook_thread;
	t->settled = ++t->tokens;
	if (UNLIKELY(hash ==
		     atomic_load_explicit(&hook_switch.steps.anchor, memory_order_relaxed)) ||
	    UNLIKELY(hash ==
		     atomic_load_explicit(&hook_switch.steps.backup, memory_order_relaxed)) ||
	    UNLIKELY(is_anchor) ||
	    UNLIKELY(atomic_load_explicit(&hook_switch.steps.attention, memory_order_relaxed)) ||
	    UNLIKELY(!(t->tokens % STEPS_LOOK_EVERY)))
		steps_notice(hash, is_anchor, function);
}

/* A launch is about to be made. `is_anchor`: its kernel's name or its graph begins a step. */
HOT static inline void steps_token(uint64_t token, bool is_anchor, uint64_t function)
{
	steps_catch_up();
	steps_pushed(token_window_push(&hook_thread.window, token), is_anchor, function);
}

/* A copy is about to be made; `kind`: enum record_copy. */
HOT static inline void steps_copy(uint32_t kind)
{
	steps_catch_up();
	uint64_t anchor = atomic_load_explicit(&hook_switch.steps.anchor, memory_order_relaxed);
	steps_pushed(token_window_push_for(&hook_thread.window, token_copy(kind), anchor), false,
		     STEPS_NO_FUNCTION);
}

/* PROF_STEP=graph: returns whether launching `exec` begins a step. */
bool steps_is_anchor_graph(uint64_t exec);

/* PROF_STEP=nvtx: returns whether ranges of that name begin steps; steps_range: one begins now. Not
 * within a hooked call. */
bool steps_is_anchor_range(const char *domain, const char *name);
void steps_range(void);

/* Sets everything up from the settings and opens the first step. Called at startup. */
void steps_start(const struct config_step *step, const struct schedule *schedule,
		 const struct trigger_config *trigger);

/* A synchronization has returned (PROF_STEP=sync, time). */
void steps_synced(void);

/* Returns whether a synchronizing call must call steps_synced. */
bool steps_wants_syncs(void);

/* cudaProfilerStart and Stop (PROF_STEP=api). */
void profiler_started(void);
void profiler_stopped(void);

/* The process exits. Writes the end of the last step if it has ended, since no launch will begin
 * another. */
void steps_finish(void);

/* Forgets everything, in a forked child. */
void steps_forget(void);

#endif
