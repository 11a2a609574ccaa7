/*
 * Detects where one step ends and the next begins, and applies the schedule there. Counting is on
 * the hot path and takes one compare per launch. Crossing a boundary is not on the hot path,
 * because it may switch GPU timing on or off.
 */
#ifndef PRELOAD_STEPS_H
#define PRELOAD_STEPS_H

#include "core/runtime/config.h"
#include "core/runtime/opening.h"
#include "core/runtime/schedule.h"
#include "core/runtime/trigger.h"
#include "preload/hook.h"

/* After this many launches, a thread checks whether steps still end. A check costs a few
 * nanoseconds. When another model's steps begin, the launches before the check are not counted. */
#define STEPS_LOOK_EVERY 64u

/* Stands for the function of copies and graph launches, which launch no single function. */
#define STEPS_NO_FUNCTION 1u

void steps_notice(uint64_t hash, bool is_anchor, uint64_t function);

/* Adds the skipped launches to the thread's window. */
void steps_settle(void);

/*
 * steps_let_by: returns whether counting may skip launches.
 * steps_passes: returns whether it may skip a launch of `function`. It may not if `function`
 * completes the anchor or the backup, or if a check is due.
 * Nine in ten launches of a program with locked steps are skipped; hashing a launch costs 7 ns.
 * Always inlined, because GCC emits calls on a path that is marked unlikely.
 */
static inline bool steps_let_by(void)
{
	return atomic_load_explicit(&hook_switch.steps.passes, memory_order_relaxed);
}

/*
 * Returns whether the launch after `tokens` others of the thread is examined in any case: the first
 * one, and then one in STEPS_LOOK_EVERY.
 */
static inline bool steps_is_look(uint32_t tokens)
{
	return !(tokens % STEPS_LOOK_EVERY);
}

__attribute__((always_inline)) static inline bool steps_passes(uint64_t function)
{
	const struct steps_hot *s = &hook_switch.steps;
	return LIKELY(function != atomic_load_explicit(&s->anchor_function, memory_order_relaxed) &&
		      function != atomic_load_explicit(&s->backup_function, memory_order_relaxed) &&
		      !steps_is_look(hook_thread_here()->tokens));
}

/* Counts a skipped launch. Returns where the caller must store the launch. Sets `is_passed`. */
__attribute__((always_inline)) static inline struct hook_passed *steps_passed(uint32_t *is_passed)
{
	struct hook_thread *t = hook_thread_here();
	*is_passed = true;
	return &t->passed[t->tokens++ % 2];
}

/* Adds skipped launches to the thread's window. Must be called before the next token is added. */
HOT static inline void steps_catch_up(void)
{
	if (UNLIKELY(hook_thread.settled != hook_thread.tokens))
		steps_settle();
}

/*
 * Counts a launch or copy after its token was added to the thread's window. `hash`: the anchor if
 * the token is a single one, else the hash of the window's last three tokens.
 */
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
	    UNLIKELY(steps_is_look(t->tokens - 1)))
		steps_notice(hash, is_anchor, function);
}

/*
 * Lets a new thread continue the counts of one that has ended. Otherwise threads that make a few
 * launches each would never notice that the anchor does not occur any more.
 */
HOT static inline void steps_continue(void)
{
	if (UNLIKELY(!hook_thread.tokens) && !hook_thread.has_end)
		hook_thread_begin();
}

/* Counts a launch that is about to be made. `is_anchor`: the kernel's name or the graph says that
 * it begins a step. */
HOT static inline void steps_token(uint64_t token, bool is_anchor, uint64_t function)
{
	steps_continue();
	steps_catch_up();
	uint64_t anchor = atomic_load_explicit(&hook_switch.steps.anchor, memory_order_relaxed),
		 hash = token_window_push(&hook_thread.window, token);
	steps_pushed(UNLIKELY(token_single(token) == anchor) ? anchor : hash, is_anchor, function);
}

/* Counts a copy that is about to be made. `kind`: enum record_copy. */
HOT static inline void steps_copy(uint32_t kind)
{
	steps_continue();
	steps_catch_up();
	uint64_t anchor = atomic_load_explicit(&hook_switch.steps.anchor, memory_order_relaxed);
	steps_pushed(token_window_push_for(&hook_thread.window, token_copy(kind), anchor), false,
		     STEPS_NO_FUNCTION);
}

/* For PROF_STEP=graph: returns whether a launch of `exec` begins a step. */
bool steps_is_anchor_graph(uint64_t exec);

/* For PROF_STEP=nvtx. steps_is_anchor_range: returns whether ranges with this name begin steps.
 * steps_range: begins a step, called when such a range begins. Not called within a hooked call. */
bool steps_is_anchor_range(const char *domain, const char *name);
void steps_range(void);

/* Applies the settings and begins the first step. Called at startup. */
void steps_start(const struct config_step *step, const struct schedule *schedule,
		 const struct trigger_config *trigger, const struct opening_limits *opening);

/*
 * steps_before_graph: called before each call that captures, makes or launches a graph. The first
 * call ends the opening's GPU timing, and waits until CUPTI is down. steps_before_launch: called
 * before each launch of a graph, which may begin GPU timing again. steps_before_context: called
 * before each call that creates a context. If the opening's GPU timing is on, waits until CUPTI is
 * down, and returns true; then steps_after_context() must be called after the call.
 */
void steps_before_graph(bool is_launch);
void steps_before_launch(uint64_t exec);
bool steps_before_context(void);
void steps_after_context(void);

/*
 * steps_want_graphs: returns whether graphs are to be recorded, because steps will be.
 * steps_capture_begun: called when a stream begins to capture. Until steps_capture_over(), wrappers
 * do not pass on calls that may become nodes of the graph. Both may take 100 us.
 */
bool steps_want_graphs(void);
void steps_capture_begun(void);
void steps_capture_over(void);

/* Ends the step. Called when a synchronization has returned (PROF_STEP=sync, time). */
void steps_synced(void);

/* Returns whether synchronizing calls must call steps_synced(). */
bool steps_wants_syncs(void);

/* Called by cudaProfilerStart and cudaProfilerStop (PROF_STEP=api). */
void profiler_started(void);
void profiler_stopped(void);

/* Called at exit. If the last step has ended, writes its end, because no launch will begin another
 * step. */
void steps_finish(void);

/* Called at exit: wrappers pass all calls on from now on. */
void steps_unwatch(void);

/* In a forked child: forgets everything. */
void steps_forget(void);

#endif
