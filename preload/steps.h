/*
 * Where one step ends and the next begins, and what the schedule wants there. Counting is on the hot path (one compare per
 * launch); crossing a boundary is not: it may switch GPU timing on and off.
 */
#ifndef PRELOAD_STEPS_H
#define PRELOAD_STEPS_H

#include "core/runtime/config.h"
#include "core/runtime/schedule.h"
#include "core/runtime/trigger.h"
#include "preload/hook.h"

/* Launches of a thread between two looks at whether steps go on: a look costs some nanoseconds, and what comes before it is not counted where
 * another model's steps begin. */
#define STEPS_LOOK_EVERY 64u

/* Stands for the function of a copy or a graph. */
#define STEPS_NO_FUNCTION 1u

void steps_notice(uint64_t hash, bool is_anchor, uint64_t function);

/* Puts the launches that were let by into the thread's window. */
void steps_settle(void);

/* Whether counting may let launches by that are of other functions than those two that complete the anchor and its backup. Nine in ten of
 * a locked program's launches are so, and hashing them would cost 7 ns. Inlined by order: on a path that is said to be unlikely GCC calls them. */
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

/* The place for one that does. */
__attribute__((always_inline)) static inline struct hook_passed *steps_passed(uint32_t *is_passed)
{
	struct hook_thread *t = hook_thread_here();
	*is_passed = true;
	return &t->passed[t->tokens++ % 2];
}

/* Launches that were let by are in the window before the next one is. */
HOT static inline void steps_catch_up(void)
{
	if (UNLIKELY(hook_thread.settled != hook_thread.tokens))
		steps_settle();
}

/* `hash`: what the thread's window has been completed to. */
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

/* A launch is about to be made. `is_anchor`: by its kernel's name or its graph, it begins a step. */
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
