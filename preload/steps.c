/*
 * Steps, inside the application: counts step boundaries, determines each step's action (arm.h), and
 * sets the switch (hook.h) accordingly. Only one thread at a time crosses a boundary. A thread that
 * finds another one crossing continues, because both are at the same boundary.
 *
 * Each mode takes one of two forms. In the modes kernel:, nvtx:, graph and api, a step *begins
 * with* a call, which is the first call of the new step. In the modes auto, sync and time, a step
 * *ends after* a call, and the new step begins with the next launch or copy. In the second form,
 * synchronizations and CPU work after the last launch still belong to the step that caused them.
 */
#include "preload/steps_state.h"

#include "core/runtime/log.h"
#include "preload/blocks.h"
#include "preload/gpu.h"
#include "preload/gpu_teardown.h"
#include "preload/host.h"
#include "preload/launch.h"
#include "preload/libs.h"
#include "preload/plt.h"
#include "preload/ranges.h"
#include "preload/rank.h"
#include "preload/stack.h"
#include "preload/steps_seen.h"
#include "preload/trigger.h"

#define BIT(category) (1u << CAT_##category)

enum {
	/* always recorded, because the counters and the report need these rare and slow calls */
	ALWAYS = BIT(ALLOC) | BIT(FREE) | BIT(CONTROL) | BIT(PROFILER) | BIT(STREAM) | BIT(CAPTURE),
	TOKENS = RECORD_TOKENS,
	LEARNING = ALWAYS | TOKENS | BIT(SYNC),
	EVERYTHING = (1 << CAT_COUNT) - 1,
};

/* Length of the time slices that replace the schedule's steps if the collector detects no steps. */
enum { SCHEDULE_SLICE_MS = 1000 };

/* A request that arrives before steps are detected waits SLICE_PATIENCE_MS. Then time slices of
 * SLICE_MS are recorded instead of steps. */
enum { SLICE_PATIENCE_MS = 1000, SLICE_MS = 100, CHECK_SIGNAL_EVERY = 256 };

struct steps_state steps_state = { .crossing = ATOMIC_FLAG_INIT };
static struct steps_state *const g = &steps_state;

/* Converts ns to ticks. Measures the ticks per ns since the journal's start, over at least a
 * millisecond. This is precise to about 1e-4, which is plenty for time slices. */
static uint64_t ticks_of_ns(uint64_t ns)
{
	if (hook_switch.clock_kind == CLOCK_KIND_MONOTONIC_NS)
		return ns;
	struct journal_clock_point a = journal_header()->clock.first, b = a;
	while (b.monotonic_ns - a.monotonic_ns < 1000000)
		b = clock_point(hook_switch.clock_kind);
	return (uint64_t)((double)ns * (double)(b.ticks - a.ticks) /
			  (double)(b.monotonic_ns - a.monotonic_ns));
}

/* ---- The switch ---- */

/* Returns the categories that wrappers must watch in order to count steps, in addition to the
 * recorded categories. */
static uint32_t counting_categories(void)
{
	static const uint32_t by_mode[] = {
		[STEP_MODE_AUTO] = TOKENS | BIT(MEMSET), /* memsets count in rec_call's seq */
		[STEP_MODE_KERNEL] = TOKENS | BIT(MEMSET),
		[STEP_MODE_GRAPH] = BIT(GRAPH),
		[STEP_MODE_SYNC] = TOKENS | BIT(MEMSET) | BIT(SYNC),
		[STEP_MODE_TIME] = TOKENS | BIT(MEMSET) | BIT(SYNC),
		[STEP_MODE_API] = 0,
		[STEP_MODE_NVTX] = 0,
	};
	/* Steps are timed even if nothing will be recorded any more, because the report's baseline
	 * is all steps. */
	/* CAT_CONTROL: the current device must be known when recording begins. CAT_NODE: so must
	 * the nodes of graphs. */
	return arm_is_off(&g->arm) ? 0 : by_mode[g->mode] | BIT(CONTROL) | BIT(NODE);
}

/* Returns whether launches may skip the counting. They may if two known functions suffice to count
 * steps, and launches are not recorded. */
static bool may_pass(void)
{
	const struct steps_hot *s = &hook_switch.steps;
	return g->mode == STEP_MODE_AUTO && !steps_still_learning() &&
	       atomic_load_explicit(&s->anchor_function, memory_order_relaxed) &&
	       (!atomic_load_explicit(&s->backup, memory_order_relaxed) ||
		atomic_load_explicit(&s->backup_function, memory_order_relaxed)) &&
	       !hook_records(CAT_LAUNCH) && !hook_captures();
}

/* Turns attention on or off. While it is on, every launch calls steps_notice(). A caller that turns
 * it off must then check whether another thread needs it. */
static void pay_attention(bool on)
{
	struct steps_hot *s = &hook_switch.steps;
	atomic_store(&s->passes, false);
	atomic_store(&s->attention, on);
	if (!on && may_pass())
		atomic_store(&s->passes, true);
	if (atomic_load(&hook_switch.captures)) /* a capture may have begun meanwhile */
		atomic_store(&s->passes, false);
}

/*
 * Returns the categories to watch. Host functions stay watched after the first capture: they are
 * rare, and plt_follow() is then needed for few captures.
 */
static uint32_t categories_to_watch(void)
{
	uint32_t own = atomic_load(&g->watch), nodes = 0;
	if (atomic_load(&g->has_captured))
		nodes |= BIT(HOSTFUNC);
	if (atomic_load(&hook_switch.captures))
		nodes |= RECORD_NODES;
	return own ? own | nodes : 0;
}

/* Returns whether steps were locked during the current step and the next step will be recorded. The
 * rest of the current step is then journaled too, so that the journal has no gap before the next
 * step. */
static bool is_recorded_next(void)
{
	return g->mode == STEP_MODE_AUTO && step_state_is_counting(steps_learn_state()) &&
	       g->number == g->known_in && arm_action(&g->arm, g->number + 1) != SCHED_NONE;
}

/* Several threads may set the switch at the same time: the last one to do so finds what all of
 * them want. */
static void set_watch(void)
{
	uint32_t watch;
	do {
		watch = categories_to_watch();
		atomic_store(&hook_switch.watch, watch);
	} while (watch != categories_to_watch());
}

void steps_set_switch(void)
{
	bool recorded = g->action != SCHED_NONE;
	uint32_t record = ALWAYS;
	if (recorded)
		record = EVERYTHING;
	else if ((steps_still_learning() && !arm_is_off(&g->arm)) || is_recorded_next())
		record = LEARNING;
	atomic_store_explicit(&hook_switch.begins_by_name, g->mode == STEP_MODE_KERNEL,
			      memory_order_relaxed);
	/* Warm-up steps take stacks too, so that the first recorded step finds its stacks already
	 * known. */
	atomic_store_explicit(&hook_switch.stacks,
			      recorded ? stack_masks().recorded : stack_masks().always,
			      memory_order_relaxed);
	atomic_store_explicit(&hook_switch.record, record, memory_order_relaxed);
	atomic_store(&g->watch, record | counting_categories());
	set_watch();
	if (record >> CAT_LAUNCH & 1)
		atomic_store_explicit(&hook_switch.steps.passes, false, memory_order_relaxed);
	/* Sequentially consistent. Otherwise a range that starts now might neither see `recorded`
	 * nor be seen by ranges_record(). */
	if (!atomic_exchange(&hook_switch.ranges, recorded) && recorded)
		ranges_record();
	libs_record(recorded);
	blocks_record(recorded);
	host_record(recorded);
	plt_follow();
}

void steps_write_record(const struct rec_step *from)
{
	struct rec_step *r = journal_reserve(&hook_thread.writer, REC_STEP, sizeof(*r));
	if (!hook_thread.has_end)
		hook_thread_keep();
	if (!r)
		return;
	*r = *from;
	r->kind = REC_STEP;
	r->words = sizeof(*r) / 8;
	journal_commit(&hook_thread.writer, sizeof(*r));
}

void steps_write(enum step_event event, uint64_t number, uint64_t ticks)
{
	steps_write_record(&(struct rec_step){
		.event = (uint8_t)event,
		.action = (uint8_t)g->action,
		.generation = g->generation,
		.ticks = ticks,
		.number = number,
		.detail = event == STEP_BEGIN ? g->slice_ms : 0,
	});
	blocks_step(ticks);
}

/* ---- Requests for steps ---- */

/* Answers all requests with steps from `next` on. Step `next` begins at `ticks`. */
static void answer_triggers(uint64_t next, uint64_t ticks)
{
	static const char *const causes[TRIGGER_CAUSES] = { "", "profrun trigger", "SIGUSR2",
							    "a slow step" };
	struct trigger_ask ask;
	while (trigger_take(&ask)) {
		atomic_store_explicit(&g->asked_ticks, 0, memory_order_relaxed);
		enum trigger_answer how = arm_is_flying(&g->arm, next) ? TRIGGER_FROM_KEPT
					  : g->slice_ms		       ? TRIGGER_BY_TIME
								       : TRIGGER_BY_STEPS;
		/* pass no first step for time slices, because each rank numbers them differently */
		struct arm_window w = arm_ask(&g->arm, next, g->slice_ms ? 0 : ask.from, ask.n);
		steps_write_record(&(struct rec_step){
			.event = STEP_TRIGGERED,
			.action = (uint8_t)ask.cause,
			.generation = ask.request,
			.ticks = ticks,
			.number = w.first,
			.detail = w.n,
		});
		trigger_give(&ask, how, &w);
		log_line(LOG_INFO, "%s: recording %llu step%s from step %llu on", causes[ask.cause],
			 (unsigned long long)w.n, w.n == 1 ? "" : "s", (unsigned long long)w.first);
	}
}

/* Times the step that ends. A slow step in a requested window does not request another window. */
static void end_step(uint64_t ticks)
{
	if (ticks > g->began_ticks)
		trigger_step_took(ticks - g->began_ticks, !arm_is_asked(&g->arm, g->number));
	if (g->number % CHECK_SIGNAL_EVERY == CHECK_SIGNAL_EVERY - 1)
		trigger_check_signal();
}

/* Returns whether no steps are known: they are not detected yet, or were lost, or the mode's first
 * anchor has not occurred. */
static bool are_unknown(void)
{
	enum step_state state = steps_learn_state();
	return state == STEP_STATE_LEARNING || state == STEP_STATE_LOST ||
	       state == STEP_STATE_WITHDRAWN || (g->mode == STEP_MODE_KERNEL && !g->counted_first);
}

/* Returns whether a request has waited for steps for too long. Called at each launch while steps
 * are unknown; costs a few loads. */
static bool has_waited_long(void)
{
	if (g->slice_ms || !are_unknown() || !trigger_is_asked())
		return false;
	uint64_t now = hook_ticks(),
		 since = atomic_load_explicit(&g->asked_ticks, memory_order_relaxed);
	if (since)
		return now > since && now - since >= atomic_load_explicit(&g->patience_ticks,
									  memory_order_relaxed);
	atomic_store_explicit(&g->patience_ticks, ticks_of_ns(SLICE_PATIENCE_MS * 1000000ull),
			      memory_order_relaxed);
	atomic_store_explicit(&g->asked_ticks, now, memory_order_relaxed);
	return false;
}

/* Starts the schedule. `next` is the first step that the schedule may record. */
void steps_begin_schedule(uint64_t next)
{
	arm_locked(&g->arm, next);
	atomic_store_explicit(&g->shared->schedule_shift, g->arm.shift, memory_order_relaxed);
}

/* Starts counting the launches that this thread makes in step `number`. */
void steps_see(uint64_t number)
{
	hook_thread.step_seen = number;
	hook_thread.tokens_then = hook_thread.tokens;
}

/* Returns whether a step with this action has GPU times. */
static bool wants_gpu(enum sched_action action)
{
	return action != SCHED_NONE && (action != SCHED_OPENING || opening_has_gpu(&g->opening));
}

/*
 * Ends the opening, at `ticks`. The caller then sets the action of the current or the new step, and
 * switches GPU timing.
 */
static void end_opening(uint64_t ticks)
{
	g->arm.is_opening = false;
	atomic_store_explicit(&g->shared->opening_end_ticks, ticks, memory_order_release);
	steps_write(STEP_OPENING_ENDED, g->number, ticks);
}

/* Ends the opening inside a step, because a limit is reached. */
static void cut_opening(uint64_t ticks)
{
	bool had_gpu = wants_gpu(g->action);
	end_opening(ticks);
	g->action = arm_action(&g->arm, g->number);
	if (had_gpu && !wants_gpu(g->action))
		gpu_stop();
	steps_set_switch();
	if (!arm_is_endless(&g->arm))
		log_line(LOG_INFO, "the opening has reached its limit (PROF_OPENING)");
}

/*
 * Returns whether the opening ends before step `number`: the schedule's steps are over, and the
 * collector has enough steps for stable figures.
 */
static bool is_opening_over(uint64_t number)
{
	if (!g->arm.is_opening || steps_still_learning())
		return false;
	return !g->agree.waits && arm_is_done(&g->arm, number) &&
	       (!atomic_load(&journal_header()->collector) || atomic_load(&g->shared->has_enough));
}

/* Begins step `number`. Writes the step's record after GPU timing is switched on, with the action
 * of the new step. */
void steps_begin(uint64_t number, uint64_t ticks)
{
	enum sched_action before = g->action;
	uint64_t start;
	end_step(ticks);
	g->number = number;
	if (g->agree.waits && agree_is_over(&g->agree, g->shared, number, ticks, &start))
		steps_begin_schedule(start);
	answer_triggers(number, ticks);
	if (is_opening_over(number))
		end_opening(ticks);
	g->action = arm_action(&g->arm, number);
	if (wants_gpu(g->action) && !wants_gpu(before))
		gpu_start();
	else if (wants_gpu(g->action))
		gpu_resume();
	if (!wants_gpu(g->action) && wants_gpu(before))
		gpu_stop();
	atomic_store_explicit(&g->shared->current, number, memory_order_relaxed);
	steps_see(number);
	g->began_ticks = ticks;
	steps_write(STEP_BEGIN, number, ticks);
	if ((g->action == SCHED_NONE) != (before == SCHED_NONE))
		steps_set_switch();
}

/* Enters the crossing, which admits one thread at a time. `patient`: tries 2000 times, so that an
 * anchor is not missed only because another thread crosses for some nanoseconds. Even a patient
 * caller gives up while another thread switches GPU timing on, which can take seconds. */
bool steps_enter_crossing(bool patient)
{
	for (int tries = patient ? 2000 : 1; tries; tries--)
		if (!atomic_flag_test_and_set_explicit(&g->crossing, memory_order_acquire))
			return true;
	return false;
}

void steps_leave_crossing(void)
{
	atomic_flag_clear_explicit(&g->crossing, memory_order_release);
}

/* ---- Boundaries ---- */

/* Marks the step as ended. The next launch begins the new step. */
static void end_after_this(void)
{
	atomic_store(&g->pending, true);
	pay_attention(true);
}

static bool needs_attention(void)
{
	return steps_still_learning() || are_unknown() || g->mode == STEP_MODE_TIME ||
	       iteration_waits(&g->iteration) ||
	       atomic_load_explicit(&g->pending, memory_order_relaxed);
}

/* Returns the ticks of the last full second of the machine's clock. All ranks use it, so that their
 * time slices begin at the same time. */
static uint64_t whole_second(void)
{
	const uint64_t second_ns = 1000000000;
	struct journal_clock_point now = clock_point(hook_switch.clock_kind);
	return now.ticks - ticks_of_ns(now.monotonic_ns % second_ns);
}

static void cross(uint64_t ticks, bool by_anchor)
{
	uint64_t began = g->began_ticks;
	if (steps_learn_state() == STEP_STATE_ADOPTED) {
		steps_write(STEP_COUNTED, ++g->own, ticks);
		g->began_ticks = ticks;
		return;
	}
	if (by_anchor)
		g->slice_ms = 0;
	if (g->slice_ms == SCHEDULE_SLICE_MS)
		atomic_fetch_add_explicit(&g->shared->slices, 1, memory_order_relaxed);
	steps_begin(g->number + 1, ticks);
	if (g->slice_ms == SCHEDULE_SLICE_MS && g->has_peers)
		g->began_ticks = whole_second();
	if (by_anchor)
		steps_find_again();
	if (by_anchor)
		steps_check_doubts(ticks, ticks - began);
	if (g->slice_ms == SLICE_MS && !(are_unknown() && arm_is_asked(&g->arm, g->number)))
		g->slice_ms = 0;
}

static void begin_slices(unsigned ms, uint64_t ticks)
{
	if (g->arm.is_opening)
		cut_opening(ticks);
	g->slice_ms = ms;
	/* With several ranks, time slices end with the first launch after a full second. A slice
	 * lasts 1 ms longer than a second. Otherwise one slice might end just before a full second,
	 * and the next slice right after it. */
	unsigned more_ms = ms == SCHEDULE_SLICE_MS && g->has_peers;
	g->slice_ticks = ticks_of_ns((ms + more_ms) * 1000000ull);
	log_line(LOG_INFO, "no steps detected yet: recording time slices of %u ms instead", ms);
	bool begins = ms == SCHEDULE_SLICE_MS && !g->was_locked,
	     waits = begins && g->has_peers && !arm_is_always(&g->arm);
	if (begins && !waits)
		steps_begin_schedule(g->number + 1);
	cross(ticks, false);
	if (waits)
		agree_begin(&g->agree, g->shared, START_OF_STEPS, g->number);
}

/* Returns whether the schedule should continue with time slices, because the collector has detected
 * no steps for a long time. */
static bool wants_slices(void)
{
	return !g->slice_ms && are_unknown() &&
	       atomic_load_explicit(&g->shared->wants_slices, memory_order_relaxed);
}

/* Counts an anchor in a mode whose steps begin with a call. The first anchor belongs to step 0,
 * like everything before it. */
void steps_begin_with_this(uint64_t ticks)
{
	if (g->counted_first)
		steps_begin(g->number + 1, ticks);
	g->counted_first = true;
}

static bool slice_is_over(void)
{
	return (g->mode == STEP_MODE_TIME || (g->slice_ms && are_unknown())) &&
	       hook_ticks() - g->began_ticks >= g->slice_ticks;
}

static bool is_opening_used_up(void)
{
	return g->arm.is_opening && steps_is_look(hook_thread.tokens - 1) &&
	       opening_is_used_up(&g->opening, hook_ticks(),
				  atomic_load_explicit(&journal_header()->chunk_claims,
						       memory_order_relaxed));
}

/* Stores the function whose launch completes the anchor or the backup. It is the same function
 * every time. */
static void note_function(uint64_t hash, uint64_t function)
{
	struct steps_hot *s = &hook_switch.steps;
	if (hash == atomic_load_explicit(&s->anchor, memory_order_relaxed))
		atomic_store_explicit(&s->anchor_function, function, memory_order_relaxed);
	else if (hash == atomic_load_explicit(&s->backup, memory_order_relaxed))
		atomic_store_explicit(&s->backup_function, function, memory_order_relaxed);
}

void steps_settle(void)
{
	struct hook_thread *t = &hook_thread;
	for (uint32_t n = t->tokens - t->settled < 2 ? 1 : 2; n; n--) {
		const struct hook_passed *p = &t->passed[(t->tokens - n) % 2];
		token_window_push(&t->window, token_launch(p->function, p->grid, p->block));
	}
	t->settled = t->tokens;
}

void steps_notice(uint64_t hash, bool is_anchor, uint64_t function)
{
	note_function(hash, function);
	if (steps_still_learning())
		steps_learn_from(hash);
	const struct iteration_anchors a = steps_anchors();
	bool moves = iteration_is_moved(&g->iteration, &a, hook_thread.writer.slot, hash);
	bool pending = atomic_load_explicit(&g->pending, memory_order_relaxed);
	bool urgent = moves || is_anchor || pending;
	enum lateness late = urgent ? IN_TIME : steps_lateness();
	if (arm_is_off(&g->arm) ||
	    !(urgent || late || slice_is_over() || has_waited_long() || wants_slices() ||
	      is_opening_used_up() || (steps_still_learning() && steps_have_news())) ||
	    !steps_enter_crossing(urgent))
		return;
	uint64_t ticks = hook_ticks();
	if (late)
		late = steps_lateness(); /* another thread may have handled it */
	if (late == LOST)
		steps_lose();
	else if (late == OVERDUE)
		steps_doubt();
	if (steps_still_learning())
		steps_read_news();
	if (pending && atomic_exchange_explicit(&g->pending, false, memory_order_relaxed))
		cross(ticks, true);
	else if (slice_is_over())
		cross(ticks, false);
	if (is_anchor)
		steps_begin_with_this(ticks);
	if (is_opening_used_up())
		cut_opening(ticks);
	if (has_waited_long())
		begin_slices(SLICE_MS, ticks);
	else if (wants_slices())
		begin_slices(SCHEDULE_SLICE_MS, ticks);
	if (moves &&
	    iteration_take(&g->iteration, &a, hook_thread.writer.slot, hook_thread.tokens, hash))
		end_after_this();
	/* A synchronization on another thread may end a step at this moment. That thread sets
	 * `pending` and then attention. This thread sets attention and then reads `pending`. One of
	 * the two threads therefore sees the other's store. */
	pay_attention(needs_attention());
	if (atomic_load(&g->pending))
		pay_attention(true);
	steps_leave_crossing();
}

HOT bool steps_wants_syncs(void)
{
	return g->mode == STEP_MODE_SYNC;
}

void steps_synced(void)
{
	end_after_this();
}

/* ---- Captures of graphs ---- */

bool steps_want_graphs(void)
{
	return g->shared && !arm_is_off(&g->arm) && atomic_load(&g->watch);
}

/* `has_changed`: the switch has changed already. */
static void follow_captures(bool has_changed)
{
	uint32_t before = atomic_load(&hook_switch.watch);
	set_watch();
	if (has_changed || atomic_load(&hook_switch.watch) != before)
		plt_follow();
}

void steps_capture_begun(void)
{
	atomic_fetch_add(&hook_switch.captures, 1);
	atomic_store(&g->has_captured, true);
	atomic_store(&hook_switch.steps.passes, false);
	follow_captures(libs_watch_captures());
}

void steps_capture_over(void)
{
	atomic_fetch_sub(&hook_switch.captures, 1);
	follow_captures(false);
}

/* ---- CUPTI in the opening ---- */

void steps_before_graph(bool is_launch)
{
	if (!opening_before_graph(&g->opening, is_launch))
		return;
	if (g->action == SCHED_OPENING)
		gpu_stop_and_wait();
	opening_has_stopped(&g->opening);
}

/*
 * Returns whether the schedule's first window comes no later than the opening's end. Until steps
 * are known, this is certain only of the default: its window begins when they are.
 */
static bool is_window_in_opening(void)
{
	uint64_t first = schedule_first_recorded(&g->arm.schedule);
	if (first <= g->soon)
		return true;
	return first != SCHEDULE_NEVER && !steps_still_learning() &&
	       opening_reaches(&g->opening,
			       (struct opening_look){ .ticks = hook_ticks(),
						      .chunks = atomic_load_explicit(
							      &journal_header()->chunk_claims,
							      memory_order_relaxed),
						      .step = g->number },
			       first + g->arm.shift);
}

void steps_before_launch(uint64_t exec)
{
	if (hook_captures() || !opening_waits(&g->opening) || !steps_enter_crossing(true))
		return;
	if (opening_before_launch(&g->opening, exec, is_window_in_opening()) &&
	    g->action == SCHED_OPENING)
		gpu_start();
	steps_leave_crossing();
}

bool steps_before_context(void)
{
	bool stops = g->arm.is_opening && g->action == SCHED_OPENING && wants_gpu(g->action);
	if (stops)
		gpu_stop_and_wait();
	return stops;
}

void steps_after_context(void)
{
	if (wants_gpu(g->action))
		gpu_start();
}

/* ---- Start ---- */

/*
 * Begins the opening, unless the schedule records nothing, or the program itself says what to
 * record. If every step is recorded anyway, the opening is the part of the run from which loops are
 * learned. PROF_OPENING=off then saves nothing, so it has the usual limits.
 */
static void start_opening(const struct schedule *schedule, const struct opening_limits *limits)
{
	struct schedule usual;
	struct opening_limits most = *limits;
	if (schedule->off || g->mode == STEP_MODE_API)
		return;
	schedule_parse(SCHEDULE_DEFAULT, &usual, NULL);
	g->soon = schedule_first_recorded(&usual);
	bool is_endless = arm_is_endless(&g->arm);
	if (is_endless && !most.ns && !most.bytes)
		opening_parse(OPENING_DEFAULT, &most, NULL);
	g->arm.is_opening = opening_start(&g->opening, &most, ticks_of_ns(1000000000),
					  journal_header()->chunk_bytes);
	if (is_endless)
		opening_leave_gpu(&g->opening);
	else if (gpu_teardown_has_graphs())
		steps_before_graph(false);
}

void steps_start(const struct config_step *step, const struct schedule *schedule,
		 const struct trigger_config *trigger, const struct opening_limits *opening)
{
	g->shared = &journal_header()->steps;
	g->mode = (enum step_mode)step->mode;
	g->has_peers = rank_has_peers();
	arm_start(&g->arm, schedule, trigger_is_any(trigger), g->mode == STEP_MODE_AUTO);
	start_opening(schedule, opening);
	trigger_start(trigger, &journal_header()->trigger);
	g->shared->mode = (uint32_t)g->mode;
	g->shared->wants_optimizer = step->wants_optimizer;
	g->shared->wants_function = step->wants_function;
	if (g->mode == STEP_MODE_KERNEL)
		launch_watch(step->pattern);
	if (g->mode == STEP_MODE_NVTX)
		steps_watch_ranges(step->pattern);
	if (g->mode == STEP_MODE_TIME)
		g->slice_ticks = ticks_of_ns(step->slice_ns);
	bool learning = g->mode == STEP_MODE_AUTO && !arm_is_off(&g->arm);
	atomic_store(&g->shared->state, learning ? STEP_STATE_LEARNING : STEP_STATE_OWN);
	uint64_t now = hook_ticks();
	if (g->mode == STEP_MODE_API) {
		g->outside = true;
		steps_write(STEP_OUTSIDE, 0, now);
	} else {
		g->action = arm_action(&g->arm, 0);
		if (wants_gpu(g->action))
			gpu_start();
		g->began_ticks = now;
		steps_write(STEP_BEGIN, 0, now);
	}
	steps_set_switch();
	pay_attention(needs_attention());
}

/* Returns whether this thread has made the last launches of a step. Needed where the launches that
 * complete the anchor belong to the next step. */
static bool stands_at_end(void)
{
	const struct hook_thread *t = &hook_thread;
	if (g->mode != STEP_MODE_AUTO || !step_state_is_counting(steps_learn_state()) ||
	    t->step_seen != g->number || t->tokens - t->tokens_then < g->apart)
		return false;
	steps_catch_up();
	return token_window_is_at_end(&t->window, steps_anchors().anchor, g->end);
}

void steps_finish(void)
{
	if (g->shared && !arm_is_off(&g->arm) && steps_enter_crossing(true)) {
		bool ended = atomic_exchange_explicit(&g->pending, false, memory_order_relaxed);
		if (ended || stands_at_end())
			steps_write(STEP_OUTSIDE, g->number, hook_ticks());
		steps_leave_crossing();
	}
	trigger_check_signal();
}

void steps_unwatch(void)
{
	atomic_store(&g->watch, 0);
	atomic_store(&hook_switch.watch, 0);
}

void steps_forget(void)
{
	trigger_forget();
	steps_seen_forget();
	steps_state = (struct steps_state){ .crossing = ATOMIC_FLAG_INIT };
	hook_switch.steps = (struct steps_hot){ 0 };
}
