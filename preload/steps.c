/*
 * Steps in the application: counts boundaries, asks what each step is for (arm.h), and turns the switch of hook.h accordingly.
 * A boundary is crossed by one thread at a time; who finds another one crossing goes on, since the boundary is the same.
 *
 * Every mode comes down to one of two forms. A step *begins with* a call (kernel:, nvtx:, graph, api), which is then the first of
 * the new step; or it *ends after* a call (auto, sync, time), and the new one begins with the next launch or copy, so that
 * the waits and the host's work behind the last launch still belong to the step that caused them.
 */
#include "preload/steps.h"

#include "core/log.h"
#include "core/turn.h"
#include "preload/agree.h"
#include "preload/arm.h"
#include "preload/blocks.h"
#include "preload/doubt.h"
#include "preload/gpu.h"
#include "preload/launch.h"
#include "preload/libs.h"
#include "preload/life.h"
#include "preload/ranges.h"
#include "preload/rank.h"
#include "preload/stack.h"
#include "preload/steps_seen.h"
#include "preload/trigger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BIT(category) (1u << CAT_##category)

enum {
	/* What gives the counters and the report their ground at any time: rare calls, slow ones. */
	ALWAYS = BIT(ALLOC) | BIT(FREE) | BIT(CONTROL) | BIT(PROFILER) | BIT(STREAM) | BIT(CAPTURE),
	TOKENS = BIT(LAUNCH) | BIT(GRAPH) | BIT(MEMCPY),
	LEARNING = ALWAYS | TOKENS | BIT(SYNC),
	EVERYTHING = (1 << CAT_COUNT) - 1,
};

/* A thread that launched so many times a step's calls, and so often at least, without a step's end: the program has gone over to
 * something else. Evaluation between steps is shorter, or goes on for as long as to have steps of its own. */
enum { LOST_TURNS = 20, LOST_LEAST = 10000 };

/* So long without one it is overdue: another model's training may have begun. Mostly it is an evaluation, or a step with more in it than
 * the others: what was journaled for nothing is at most one launch in so many, 3 ns a launch in the mean. */
enum { OVERDUE_TURNS = 2, OVERDUE_LEAST = 64, IN_VAIN_SHARE = 16 };

enum lateness { IN_TIME, OVERDUE, LOST };

/* Steps that no optimizer ends are looked at for so many launches at most, 50 ms of them. */
enum { LOOK_MOST = 1000000 };

/* Asked for before any step is known: so long one is waited for, then slices of time stand in. */
/* And so long is one where they stand in for the schedule's steps. */
enum { SCHEDULE_SLICE_MS = 1000 };

enum { SLICE_PATIENCE_MS = 1000, SLICE_MS = 100, CHECK_SIGNAL_EVERY = 256 };

static struct {
	struct journal_steps *shared; /* in the journal's header */
	enum step_mode mode;
	struct arm arm;
	struct agree agree; /* with the other ranks of the job */
	bool has_company;
	atomic_flag crossing;
	_Atomic bool pending; /* a step has ended; the next launch or copy begins the new one */
	_Atomic bool outside; /* api: between cudaProfilerStop and Start */
	bool counted_first; /* kernel, nvtx, graph: what came before the first anchor belongs to step 0 */
	enum sched_action action;
	uint64_t number;     /* of the step under way */
	uint64_t known_in;   /* auto: the one in which steps became known, or sure */
	uint64_t own;	     /* auto: anchors since the adoption */
	uint32_t generation; /* of the adopted anchor */
	uint32_t
		calls_per_step; /* of its steps: by now the collector may have told those of another one */
	struct turn turn;	 /* auto: what has come of it */
	uint32_t within, thread; /* of the adopted anchor: struct turn_anchors */
	uint32_t heard;		 /* the newest anchor that was looked at */
	bool was_locked;	 /* before the anchor was lost */
	bool on_probation; /* the anchor may turn out to be the wrong one; then all is as it was: */
	struct {
		struct arm arm;
		uint64_t number;
		bool was_locked, by_optimizer;
	} before;
	_Atomic bool is_overdue;    /* the anchor is, and the collector looks for another one */
	bool by_optimizer;	    /* an optimizer ends the steps */
	bool begins_training;	    /* it does, and none ended those before */
	struct doubt doubt;	    /* where none does */
	_Atomic uint64_t n_overdue; /* launches and copies journaled since, or for nothing before */
	uint64_t doubted_in; /* the step in which the collector began to look for another one */
	uint64_t look_from,
		look_n; /* how many steps it looks at though the anchor comes, and since which it does; 0: not yet */
	uint64_t look_end_ticks; /* when the last of them had come; 0: not yet */
	uint64_t looked_from;	 /* n_overdue when it began */
	uint64_t began_ticks;	 /* the step under way */
	uint64_t slice_ticks;	 /* time: */
	unsigned slice_ms;	 /* slices of time stand in for steps: so long, 0: they do not */
	_Atomic uint64_t
		asked_ticks; /* since when somebody waits for steps to be known, 0: nobody */
	_Atomic uint64_t patience_ticks;
	uint64_t graphs[8];	/* graph: the execs launched last */
	_Atomic uint64_t graph; /* the one that repeats */
	unsigned next_graph;
	const char *range; /* nvtx: NAME or NAME@DOMAIN */
} g = { .crossing = ATOMIC_FLAG_INIT };

/* The journal is a millisecond old at least, once it has been waited for, which gives the rate to about 1e-4: plenty for slices
 * of time. */
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

static enum step_state state(void)
{
	return (enum step_state)atomic_load_explicit(&g.shared->state, memory_order_relaxed);
}

static bool is_overdue(void)
{
	return atomic_load_explicit(&g.is_overdue, memory_order_relaxed);
}

static bool still_learning(void)
{
	return g.mode == STEP_MODE_AUTO &&
	       (state() != STEP_STATE_LOCKED || g.on_probation || is_overdue());
}

/* ---- The switch ---- */

/* Categories that the wrappers must look at for counting, beyond those that are recorded. */
static uint32_t counting_categories(void)
{
	static const uint32_t by_mode[] = {
		[STEP_MODE_AUTO] = TOKENS,
		[STEP_MODE_KERNEL] = BIT(LAUNCH),
		[STEP_MODE_GRAPH] = BIT(GRAPH),
		[STEP_MODE_SYNC] = TOKENS | BIT(SYNC),
		[STEP_MODE_TIME] = TOKENS | BIT(SYNC),
		[STEP_MODE_API] = 0,
		[STEP_MODE_NVTX] = 0,
	};
	/* once nothing will ever be armed again, step times still want counting: the report's baseline is all steps */
	return arm_is_off(&g.arm) ? 0 : by_mode[g.mode];
}

/* Steps are counted by launches of two functions, both known by now, and nothing is recorded of the others. */
static bool may_pass(void)
{
	const struct steps_hot *s = &hook_switch.steps;
	return g.mode == STEP_MODE_AUTO && state() == STEP_STATE_LOCKED &&
	       atomic_load_explicit(&s->anchor_function, memory_order_relaxed) &&
	       (!atomic_load_explicit(&s->backup, memory_order_relaxed) ||
		atomic_load_explicit(&s->backup_function, memory_order_relaxed)) &&
	       !hook_records(CAT_LAUNCH);
}

/* No launch is let by while attention is paid. Who sets it to false looks afterwards whether another thread wants it. */
static void pay_attention(bool on)
{
	struct steps_hot *s = &hook_switch.steps;
	atomic_store(&s->passes, false);
	atomic_store(&s->attention, on);
	if (!on && may_pass())
		atomic_store(&s->passes, true);
}

/* Steps became known in this one, and the next is to be armed: what is left of this one is journaled, too, so that there is no hole before it. */
static bool is_armed_next(void)
{
	return g.mode == STEP_MODE_AUTO && state() == STEP_STATE_LOCKED && g.number == g.known_in &&
	       arm_action(&g.arm, g.number + 1) != SCHED_NONE;
}

static void turn_switch(void)
{
	bool armed = g.action != SCHED_NONE;
	uint32_t record = ALWAYS;
	if (armed)
		record = EVERYTHING;
	else if ((still_learning() && !arm_is_off(&g.arm)) || is_armed_next())
		record = LEARNING;
	atomic_store_explicit(&hook_switch.begins_by_name, g.mode == STEP_MODE_KERNEL,
			      memory_order_relaxed);
	/* warm-up steps take stacks too, so that the first recorded one finds them learned */
	atomic_store_explicit(&hook_switch.stacks,
			      armed ? stack_masks().armed : stack_masks().always,
			      memory_order_relaxed);
	atomic_store_explicit(&hook_switch.record, record, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.watch, record | counting_categories(),
			      memory_order_relaxed);
	if (record >> CAT_LAUNCH & 1)
		atomic_store_explicit(&hook_switch.steps.passes, false, memory_order_relaxed);
	/* sequentially consistent: a range that starts now sees this, or its id is seen by ranges_record */
	if (!atomic_exchange(&hook_switch.ranges, armed) && armed)
		ranges_record();
	libs_record(armed);
	blocks_record(armed);
}

static void write_record(const struct rec_step *from)
{
	struct rec_step *r = journal_reserve(&hook_thread.writer, sizeof(*r));
	if (!hook_thread.has_end)
		hook_thread_keep();
	if (!r)
		return;
	*r = *from;
	r->kind = REC_STEP;
	r->words = sizeof(*r) / 8;
	journal_commit(&hook_thread.writer, sizeof(*r));
}

static void write_step(enum step_event event, uint64_t number, uint64_t ticks)
{
	write_record(&(struct rec_step){
		.event = (uint8_t)event,
		.action = (uint8_t)g.action,
		.generation = g.generation,
		.ticks = ticks,
		.number = number,
		.detail = event == STEP_BEGIN ? g.slice_ms : 0,
	});
	blocks_step(ticks);
}

/* ---- What asks for steps ---- */

/* Who asks gets steps from `next` on, which begins at `ticks`. */
static void answer_triggers(uint64_t next, uint64_t ticks)
{
	static const char *const causes[TRIGGER_CAUSES] = { "", "profrun.sh trigger", "SIGUSR2",
							    "a slow step" };
	struct trigger_ask ask;
	while (trigger_take(&ask)) {
		atomic_store_explicit(&g.asked_ticks, 0, memory_order_relaxed);
		enum trigger_answer how = arm_is_flying(&g.arm, next) ? TRIGGER_FROM_KEPT
					  : g.slice_ms		      ? TRIGGER_BY_TIME
								      : TRIGGER_BY_STEPS;
		struct arm_window w = arm_ask(&g.arm, next, ask.n);
		write_record(&(struct rec_step){
			.event = STEP_TRIGGERED,
			.action = (uint8_t)ask.cause,
			.generation = ask.request,
			.ticks = ticks,
			.number = w.first,
			.detail = w.n,
		});
		trigger_give(&ask, how, &w);
		log_line(LOG_INFO, "%s: %llu step%s from %llu on", causes[ask.cause],
			 (unsigned long long)w.n, w.n == 1 ? "" : "s", (unsigned long long)w.first);
	}
}

/* A step that is slow while a window lasts asks for no other one. */
static void end_step(uint64_t ticks)
{
	if (ticks > g.began_ticks)
		trigger_step_took(ticks - g.began_ticks, !arm_is_asked(&g.arm, g.number));
	if (g.number % CHECK_SIGNAL_EVERY == CHECK_SIGNAL_EVERY - 1)
		trigger_check_signal();
}

/* No step has been told apart, or none any more, or the first one of the mode's own has not come. */
static bool are_unknown(void)
{
	return state() == STEP_STATE_LEARNING || state() == STEP_STATE_LOST ||
	       (g.mode == STEP_MODE_KERNEL && !g.counted_first);
}

/* Somebody has been waiting for steps, and there are none. At each launch while they are unknown: a few loads. */
static bool has_waited_long(void)
{
	if (g.slice_ms || !are_unknown() || !trigger_is_asked())
		return false;
	uint64_t now = hook_ticks(),
		 since = atomic_load_explicit(&g.asked_ticks, memory_order_relaxed);
	if (since)
		return now > since &&
		       now - since >= atomic_load_explicit(&g.patience_ticks, memory_order_relaxed);
	atomic_store_explicit(&g.patience_ticks, ticks_of_ns(SLICE_PATIENCE_MS * 1000000ull),
			      memory_order_relaxed);
	atomic_store_explicit(&g.asked_ticks, now, memory_order_relaxed);
	return false;
}

/* The schedule's clock is set: `next` is the first step that it may arm. */
static void begin_schedule(uint64_t next)
{
	arm_locked(&g.arm, next);
	atomic_store_explicit(&g.shared->schedule_shift, g.arm.shift, memory_order_relaxed);
}

/* From here on this thread's launches are counted against it. */
static void see_step(uint64_t number)
{
	hook_thread.step_seen = number;
	hook_thread.tokens_then = hook_thread.tokens;
}

/* The step's record is written under the action that it begins, after GPU timing for it is on. */
static void begin_step(uint64_t number, uint64_t ticks)
{
	enum sched_action before = g.action;
	uint64_t start;
	end_step(ticks);
	g.number = number;
	if (g.agree.waits && agree_is_over(&g.agree, g.shared, number, ticks, &start))
		begin_schedule(start);
	answer_triggers(number, ticks);
	g.action = arm_action(&g.arm, number);
	if (g.action != SCHED_NONE && before == SCHED_NONE)
		gpu_start();
	else if (g.action != SCHED_NONE)
		gpu_resume();
	if (g.action == SCHED_NONE && before != SCHED_NONE)
		gpu_stop();
	atomic_store_explicit(&g.shared->current, number, memory_order_relaxed);
	see_step(number);
	g.began_ticks = ticks;
	write_step(STEP_BEGIN, number, ticks);
	if ((g.action == SCHED_NONE) != (before == SCHED_NONE))
		turn_switch();
}

/* `patient`: an anchor must not be lost because another thread looks at something else for some nanoseconds. Who finds
 * GPU timing being switched on (seconds, at worst) goes on without. */
static bool enter_crossing(bool patient)
{
	for (int tries = patient ? 2000 : 1; tries; tries--)
		if (!atomic_flag_test_and_set_explicit(&g.crossing, memory_order_acquire))
			return true;
	return false;
}

static void leave_crossing(void)
{
	atomic_flag_clear_explicit(&g.crossing, memory_order_release);
}

/* ---- Learning (auto): core/record.h, struct journal_steps, has the protocol ---- */

static struct turn_anchors anchors(void)
{
	return (struct turn_anchors){
		atomic_load_explicit(&hook_switch.steps.anchor, memory_order_relaxed),
		atomic_load_explicit(&hook_switch.steps.backup, memory_order_relaxed),
		g.within,
		g.thread,
	};
}

static void adopt_anchor(uint32_t generation)
{
	g.generation = g.heard = generation;
	g.own = 0;
	bool by_optimizer = atomic_load_explicit(&g.shared->by_optimizer, memory_order_relaxed);
	g.before.by_optimizer = g.by_optimizer;
	g.begins_training = g.was_locked && by_optimizer && !g.by_optimizer;
	g.by_optimizer = by_optimizer;
	g.doubt = (struct doubt){ 0 };
	g.calls_per_step = atomic_load_explicit(&g.shared->calls_per_step, memory_order_relaxed);
	atomic_store_explicit(&g.n_overdue, 0, memory_order_relaxed);
	g.within = atomic_load_explicit(&g.shared->backup_within, memory_order_relaxed);
	g.thread = atomic_load_explicit(&g.shared->anchor_thread, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.passes, false, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.anchor_function, 0, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.backup_function, 0, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.anchor,
			      atomic_load_explicit(&g.shared->anchor, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.backup,
			      atomic_load_explicit(&g.shared->backup, memory_order_relaxed),
			      memory_order_relaxed);
	const struct turn_anchors a = anchors();
	turn_begin(&g.turn, &a);
	atomic_store_explicit(&g.shared->state, STEP_STATE_ADOPTED, memory_order_release);
}

/* For who reads the journal later, when there may be another anchor. */
static void write_base(uint64_t base)
{
	struct turn_anchors a = anchors();
	write_record(&(struct rec_step){
		.event = STEP_NUMBERED,
		.action = g.begins_training,
		.generation = g.generation,
		.ticks = hook_ticks(),
		.number = base,
		.detail = a.anchor,
	});
	if (a.backup)
		write_record(&(struct rec_step){
			.event = STEP_BACKUP,
			.generation = g.generation,
			.ticks = hook_ticks(),
			.number = a.within,
			.detail = a.backup,
		});
}

static bool is_sure(void)
{
	return atomic_load_explicit(&g.shared->sure_generation, memory_order_acquire) ==
	       g.generation;
}

/* Several ranks begin together, each with steps that are sure. */
static void begin_with_company(void)
{
	if (g.arm.is_held && !g.agree.waits)
		agree_begin(&g.agree, g.shared, g.number);
}

/* The base has come, so numbers are absolute. */
static void lock_steps(void)
{
	uint64_t base = atomic_load_explicit(&g.shared->base, memory_order_relaxed),
		 next = base + g.own + 1;
	write_base(base);
	g.on_probation = !is_sure();
	g.before.arm = g.arm;
	g.before.number = g.number;
	g.before.was_locked = g.was_locked;
	arm_renumber(&g.arm, g.number + 1, next);
	g.slice_ms = 0;
	if (g.was_locked && !g.begins_training) {
		/* steps that nobody counted shall not cost a window; several ranks take the same ones */
		if (!g.has_company)
			arm_skip(&g.arm, next - 1 - g.number);
		atomic_store_explicit(&g.shared->schedule_shift, g.arm.shift, memory_order_relaxed);
	} else if (!g.has_company || arm_is_always(&g.arm)) {
		begin_schedule(next);
	}
	g.was_locked = true;
	g.number = g.known_in = next - 1;
	see_step(g.number);
	if (g.has_company && !g.on_probation)
		begin_with_company();
	atomic_store_explicit(&g.shared->current, g.number, memory_order_relaxed);
	atomic_store_explicit(&g.shared->state, STEP_STATE_LOCKED, memory_order_release);
	log_line(LOG_INFO, "steps are known: step %llu is under way%s",
		 (unsigned long long)g.number,
		 g.agree.waits ? "; the schedule starts when all ranks know theirs"
		 : g.arm.shift ? "; the schedule starts with the next one"
			       : "");
	turn_switch();
}

/* Whether the collector has said something new. At each launch while learning: a few loads. */
static bool has_news(void)
{
	/* pair with the collector's release stores: the values lie behind their generations */
	if (atomic_load_explicit(&g.shared->anchor_generation, memory_order_acquire) != g.heard)
		return true;
	return (g.on_probation && is_sure()) ||
	       (state() == STEP_STATE_ADOPTED && g.own &&
		atomic_load_explicit(&g.shared->base_generation, memory_order_acquire) ==
			g.generation);
}

/* ---- The anchor fails to come ---- */

static uint64_t turns(uint64_t n, uint64_t least)
{
	n *= g.calls_per_step;
	return n > least ? n : least;
}

/* A small part of all that was launched, as far as it was counted. */
static bool may_journal_in_vain(uint64_t number)
{
	return IN_VAIN_SHARE * atomic_load_explicit(&g.n_overdue, memory_order_relaxed) <=
	       turns(number, 0);
}

/* Once in STEPS_LOOK_EVERY launches of a thread. A program that launches nothing loses nothing. */
static enum lateness lateness(void)
{
	if (g.mode != STEP_MODE_AUTO || state() != STEP_STATE_LOCKED)
		return IN_TIME;
	uint64_t number = atomic_load_explicit(&g.shared->current, memory_order_relaxed);
	if (number != hook_thread.step_seen)
		see_step(number);
	uint32_t n = hook_thread.tokens - hook_thread.tokens_then;
	if (n > turns(LOST_TURNS, LOST_LEAST))
		return LOST;
	return n > turns(OVERDUE_TURNS, OVERDUE_LEAST) && !still_learning() &&
			       may_journal_in_vain(number)
		       ? OVERDUE
		       : IN_TIME;
}

/* A window that is under way ended at `ticks`, not with the first step that is known again; what is recorded throughout goes on. */
static void cut_window(uint64_t ticks)
{
	if (arm_is_always(&g.arm) || arm_is_flying(&g.arm, g.number))
		return;
	if (g.action != SCHED_NONE)
		gpu_stop();
	g.action = SCHED_NONE;
	write_step(STEP_CUT, g.number, ticks);
}

static void look_again(uint64_t n_steps)
{
	g.doubted_in = g.number;
	g.look_n = n_steps;
	g.look_from = g.look_end_ticks = 0;
	g.looked_from = atomic_load_explicit(&g.n_overdue, memory_order_relaxed);
	atomic_store_explicit(&g.shared->sees_optimizer, 0, memory_order_relaxed);
	g.heard = atomic_load_explicit(&g.shared->anchor_generation, memory_order_acquire);
	atomic_store_explicit(&g.is_overdue, true, memory_order_relaxed);
	atomic_store_explicit(&g.shared->overdue_ticks, hook_ticks(), memory_order_release);
	turn_switch();
}

static void doubt_steps(void)
{
	log_line(LOG_INFO,
		 "step %llu is longer than others: those of another optimizer are looked for",
		 (unsigned long long)g.number);
	look_again(g.by_optimizer ? 0 : DOUBT_LEAST);
}

/* Whether they are looked at though the anchor has come. */
static bool looks_on(uint64_t ticks)
{
	uint64_t n = atomic_load_explicit(&g.n_overdue, memory_order_relaxed) - g.looked_from;
	if (g.by_optimizer || n > LOOK_MOST)
		return false;
	uint64_t looked = atomic_load_explicit(&g.shared->looked_ticks, memory_order_relaxed);
	if (!g.look_from && looked < g.shared->overdue_ticks)
		return true; /* the collector does not know of it yet */
	if (!g.look_from)
		g.look_from = g.number;
	if (g.number < g.look_from + g.look_n)
		return true;
	if (!g.look_end_ticks)
		g.look_end_ticks = ticks;
	return looked < g.look_end_ticks ||
	       atomic_load_explicit(&g.shared->sees_optimizer, memory_order_relaxed);
}

/* The anchor came after all. */
static void trust_steps(void)
{
	doubt_over(&g.doubt, g.number - g.doubted_in);
	atomic_store_explicit(&g.is_overdue, false, memory_order_relaxed);
	atomic_store_explicit(&g.shared->overdue_ticks, 0, memory_order_release);
	turn_switch();
}

/* Steps of another optimizer have come in their place, since the anchor was overdue. */
static void leave_steps(void)
{
	bool came = g.number != g.doubted_in;
	cut_window(came ? hook_ticks()
			: atomic_load_explicit(&g.shared->overdue_ticks, memory_order_relaxed));
	atomic_store_explicit(&g.is_overdue, false, memory_order_relaxed);
	atomic_store_explicit(&g.n_overdue, 0, memory_order_relaxed);
}

/* Another program begins, as it were; but if the anchor comes again first, then it was only a long pause. */
static void lose_steps(void)
{
	cut_window(hook_ticks());
	atomic_store_explicit(&g.is_overdue, false, memory_order_relaxed);
	g.heard = atomic_load_explicit(&g.shared->anchor_generation, memory_order_acquire);
	atomic_store_explicit(&g.shared->state, STEP_STATE_LOST, memory_order_release);
	atomic_fetch_add_explicit(&g.shared->lost, 1, memory_order_release);
	log_line(LOG_INFO, "step %llu does not end: steps are learned again",
		 (unsigned long long)g.number);
	turn_switch();
}

static void find_again(void)
{
	atomic_store_explicit(&g.shared->state, STEP_STATE_LOCKED, memory_order_release);
	turn_switch();
}

/* ---- Steps on probation ---- */

static void confirm_steps(void)
{
	g.on_probation = false;
	g.known_in = g.number;
	if (g.has_company)
		begin_with_company();
	turn_switch();
}

/* The anchor of `generation` takes the place of one whose steps were none: their numbers and their windows count for nothing. */
static void take_steps_back(uint32_t generation)
{
	cut_window(hook_ticks());
	write_record(&(struct rec_step){
		.event = STEP_CORRECTED,
		.generation = generation,
		.ticks = hook_ticks(),
		.number = g.number,
		.detail = g.generation,
	});
	g.on_probation = false;
	g.number = g.before.number;
	g.was_locked = g.before.was_locked;
	g.by_optimizer = g.before.by_optimizer;
	arm_take_back(&g.arm, &g.before.arm, g.number + 1);
	atomic_store_explicit(&g.shared->schedule_shift, g.arm.shift, memory_order_relaxed);
	atomic_store_explicit(&g.shared->current, g.number, memory_order_relaxed);
	log_line(LOG_INFO, "steps were not what they seemed: their numbers are corrected");
}

static void listen(void)
{
	uint32_t anchor = atomic_load_explicit(&g.shared->anchor_generation, memory_order_acquire);
	bool corrects = anchor != g.heard && g.on_probation,
	     leaves = anchor != g.heard && is_overdue();
	if (corrects)
		take_steps_back(anchor);
	if (leaves)
		leave_steps();
	if (anchor != g.heard)
		adopt_anchor(anchor);
	else if (g.on_probation && is_sure())
		confirm_steps();
	else if (has_news())
		lock_steps();
	if (corrects || leaves)
		turn_switch();
}

/* ---- Boundaries ---- */

/* The next launch begins the new step. */
static void end_after_this(void)
{
	atomic_store(&g.pending, true);
	pay_attention(true);
}

static bool needs_attention(void)
{
	return still_learning() || are_unknown() || g.mode == STEP_MODE_TIME ||
	       turn_waits(&g.turn) || atomic_load_explicit(&g.pending, memory_order_relaxed);
}

/* The last one of the machine's clock: slices of several ranks begin together. */
static uint64_t whole_second(void)
{
	const uint64_t second_ns = 1000000000;
	struct journal_clock_point now = clock_point(hook_switch.clock_kind);
	return now.ticks - ticks_of_ns(now.monotonic_ns % second_ns);
}

/* The anchor came in a step that had taken `took` ticks. */
static void mind_doubts(uint64_t ticks, uint64_t took)
{
	if (is_overdue()) {
		if (!looks_on(ticks))
			trust_steps();
		return;
	}
	if (g.by_optimizer || g.mode != STEP_MODE_AUTO || still_learning())
		return;
	uint64_t n = doubt_step(&g.doubt, took);
	if (!n)
		return;
	log_line(LOG_INFO, "step %llu: whether an optimizer ends steps by now is looked at",
		 (unsigned long long)g.number);
	look_again(n);
}

static void cross(uint64_t ticks, bool by_anchor)
{
	uint64_t began = g.began_ticks;
	if (state() == STEP_STATE_ADOPTED) {
		write_step(STEP_COUNTED, ++g.own, ticks);
		g.began_ticks = ticks;
		return;
	}
	if (by_anchor)
		g.slice_ms = 0;
	if (g.slice_ms == SCHEDULE_SLICE_MS)
		atomic_fetch_add_explicit(&g.shared->slices, 1, memory_order_relaxed);
	begin_step(g.number + 1, ticks);
	if (g.slice_ms == SCHEDULE_SLICE_MS && g.has_company)
		g.began_ticks = whole_second();
	if (by_anchor && state() == STEP_STATE_LOST)
		find_again();
	if (by_anchor)
		mind_doubts(ticks, ticks - began);
	if (g.slice_ms == SLICE_MS && !(are_unknown() && arm_is_asked(&g.arm, g.number)))
		g.slice_ms = 0;
}

static void begin_slices(unsigned ms, uint64_t ticks)
{
	g.slice_ms = ms;
	/* ranks' slices end with a second's first launch: a little later, so that none ends just before, and once more with it */
	unsigned more_ms = ms == SCHEDULE_SLICE_MS && g.has_company;
	g.slice_ticks = ticks_of_ns((ms + more_ms) * 1000000ull);
	log_line(LOG_INFO, "no step is known yet: slices of %u ms are recorded", ms);
	bool begins = ms == SCHEDULE_SLICE_MS && !g.was_locked,
	     waits = begins && g.has_company && !arm_is_always(&g.arm);
	if (begins && !waits)
		begin_schedule(g.number + 1);
	cross(ticks, false);
	if (waits)
		agree_begin(&g.agree, g.shared, g.number);
}

/* The collector has looked for steps for long, and the schedule waits for them. */
static bool wants_slices(void)
{
	return !g.slice_ms && are_unknown() &&
	       atomic_load_explicit(&g.shared->wants_slices, memory_order_relaxed);
}

/* A mode whose steps begin with an anchor: the first one belongs to step 0, with what came before it. */
static void begin_with_this(uint64_t ticks)
{
	if (g.counted_first)
		begin_step(g.number + 1, ticks);
	g.counted_first = true;
}

static bool slice_is_over(void)
{
	return (g.mode == STEP_MODE_TIME || (g.slice_ms && are_unknown())) &&
	       hook_ticks() - g.began_ticks >= g.slice_ticks;
}

/* Whose launch completes the anchor or its backup: the function that was launched then is always the one. */
static void note_function(uint64_t hash, uint64_t function)
{
	struct steps_hot *s = &hook_switch.steps;
	if (hash == atomic_load_explicit(&s->anchor, memory_order_relaxed))
		atomic_store_explicit(&s->anchor_function, function, memory_order_relaxed);
	else if (hash == atomic_load_explicit(&s->backup, memory_order_relaxed))
		atomic_store_explicit(&s->backup_function, function, memory_order_relaxed);
}

/* What a launch is for helps to find the step. Once per kind of launch, so that the mean launch pays nothing for it; but whether it is a
 * function's can differ from launch to launch. */
static void learn_stack(uint64_t hash)
{
	if (stack_masks().armed && (g.shared->wants_function || steps_seen_is_new(hash)))
		hook_thread.wants_stack = true;
}

static void learn_from_this(uint64_t hash)
{
	if (is_overdue())
		atomic_fetch_add_explicit(&g.n_overdue, 1, memory_order_relaxed);
	learn_stack(hash);
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
	if (still_learning())
		learn_from_this(hash);
	const struct turn_anchors a = anchors();
	bool moves = turn_is_moved(&g.turn, &a, hook_thread.writer.slot, hash);
	bool pending = atomic_load_explicit(&g.pending, memory_order_relaxed);
	bool urgent = moves || is_anchor || pending;
	enum lateness late = urgent ? IN_TIME : lateness();
	if (arm_is_off(&g.arm) ||
	    !(urgent || late || slice_is_over() || has_waited_long() || wants_slices() ||
	      (still_learning() && has_news())) ||
	    !enter_crossing(urgent))
		return;
	uint64_t ticks = hook_ticks();
	if (late)
		late = lateness(); /* another thread may have come first */
	if (late == LOST)
		lose_steps();
	else if (late == OVERDUE)
		doubt_steps();
	if (still_learning())
		listen();
	if (pending && atomic_exchange_explicit(&g.pending, false, memory_order_relaxed))
		cross(ticks, true);
	else if (slice_is_over())
		cross(ticks, false);
	if (is_anchor)
		begin_with_this(ticks);
	if (has_waited_long())
		begin_slices(SLICE_MS, ticks);
	else if (wants_slices())
		begin_slices(SCHEDULE_SLICE_MS, ticks);
	if (moves && turn_take(&g.turn, &a, hash))
		end_after_this();
	/* a synchronisation may end a step on another thread meanwhile: it sets pending, then attention; here the order
	 * is the reverse, so one of the two sees the other */
	pay_attention(needs_attention());
	if (atomic_load(&g.pending))
		pay_attention(true);
	leave_crossing();
}

bool steps_is_anchor_graph(uint64_t exec)
{
	if (g.mode != STEP_MODE_GRAPH)
		return false;
	uint64_t known = atomic_load_explicit(&g.graph, memory_order_relaxed);
	if (known)
		return exec == known;
	if (!enter_crossing(true))
		return false;
	for (unsigned i = 0; i < sizeof(g.graphs) / sizeof(*g.graphs); i++)
		if (g.graphs[i] == exec)
			atomic_store_explicit(&g.graph, exec, memory_order_relaxed);
	g.graphs[g.next_graph++ % (sizeof(g.graphs) / sizeof(*g.graphs))] = exec;
	g.counted_first |= atomic_load_explicit(&g.graph, memory_order_relaxed) != 0;
	leave_crossing();
	return atomic_load_explicit(&g.graph, memory_order_relaxed) == exec;
}

HOT bool steps_wants_syncs(void)
{
	return g.mode == STEP_MODE_SYNC;
}

void steps_synced(void)
{
	end_after_this();
}

/* ---- PROF_STEP=nvtx ---- */

/* NAME in any domain, NAME@DOMAIN (as Nsight Systems has it) in one; the default domain has no name. */
bool steps_is_anchor_range(const char *domain, const char *name)
{
	size_t length = strlen(name);
	if (strncmp(g.range, name, length) != 0)
		return false;
	return !g.range[length] ||
	       (g.range[length] == '@' && !strcmp(g.range + length + 1, domain));
}

static void note_first_range(void)
{
	journal_put_info(JOURNAL_INFO_STEP_RANGE, "seen");
}

void steps_range(void)
{
	if (arm_is_off(&g.arm) || !enter_crossing(true))
		return;
	int saved = errno;
	hook_thread.depth = 1;
	if (!g.counted_first)
		note_first_range();
	begin_with_this(hook_ticks());
	hook_thread.depth = 0;
	leave_crossing();
	errno = saved;
}

/* A range that was opened before the first CUDA call counts: its step is step 0. */
static void watch_ranges(const char *range)
{
	g.range = range;
	g.counted_first = ranges_any_begins_step();
	if (g.counted_first)
		note_first_range();
	atomic_store(&hook_switch.steps.ranges, true);
}

/* ---- PROF_STEP=api ---- */

static void api_boundary(void)
{
	if (g.mode != STEP_MODE_API || arm_is_off(&g.arm) || !enter_crossing(true))
		return;
	atomic_store_explicit(&g.outside, false, memory_order_relaxed);
	begin_step(g.counted_first ? g.number + 1 : 0, hook_ticks());
	g.counted_first = true;
	leave_crossing();
}

void profiler_started(void)
{
	if (atomic_load_explicit(&g.outside, memory_order_relaxed))
		api_boundary();
}

void profiler_stopped(void)
{
	if (g.mode != STEP_MODE_API || atomic_load_explicit(&g.outside, memory_order_relaxed) ||
	    !enter_crossing(true))
		return;
	atomic_store_explicit(&g.outside, true, memory_order_relaxed);
	if (g.action != SCHED_NONE)
		gpu_stop();
	g.action = SCHED_NONE;
	write_step(STEP_OUTSIDE, g.number, hook_ticks());
	turn_switch();
	leave_crossing();
}

/* For programs that mark their steps: call it where a step begins. Found by dlsym(RTLD_DEFAULT, "profrun_step"); an
 * application without profrun finds nothing and calls nothing. */
EXPORT void profrun_step(void);
void profrun_step(void)
{
	if (hook_thread.depth || !hook_watches(CAT_PROFILER))
		return;
	int saved = errno;
	hook_thread.depth = 1;
	bool is_armed = atomic_load_explicit(&hook_switch.armed, memory_order_acquire) ||
			life_arm();
	if (is_armed && hook_records(CAT_PROFILER))
		api_boundary();
	hook_thread.depth = 0;
	errno = saved;
}

/* ---- Start ---- */

void steps_start(const struct config_step *step, const struct schedule *schedule,
		 const struct trigger_config *trigger)
{
	g.shared = &journal_header()->steps;
	g.mode = (enum step_mode)step->mode;
	g.has_company = rank_has_company();
	arm_start(&g.arm, schedule, trigger_is_any(trigger), g.mode == STEP_MODE_AUTO);
	trigger_start(trigger, &journal_header()->trigger);
	g.shared->mode = (uint32_t)g.mode;
	g.shared->wants_optimizer = step->wants_optimizer;
	g.shared->wants_function = step->wants_function;
	if (g.mode == STEP_MODE_KERNEL)
		launch_watch(step->pattern);
	if (g.mode == STEP_MODE_NVTX)
		watch_ranges(step->pattern);
	if (g.mode == STEP_MODE_TIME)
		g.slice_ticks = ticks_of_ns(step->slice_ns);
	bool learning = g.mode == STEP_MODE_AUTO && !arm_is_off(&g.arm);
	atomic_store(&g.shared->state, learning ? STEP_STATE_LEARNING : STEP_STATE_OWN);
	uint64_t now = hook_ticks();
	if (g.mode == STEP_MODE_API) {
		g.outside = true;
		write_step(STEP_OUTSIDE, 0, now);
	} else {
		g.action = arm_action(&g.arm, 0);
		if (g.action != SCHED_NONE)
			gpu_start();
		g.began_ticks = now;
		write_step(STEP_BEGIN, 0, now);
	}
	turn_switch();
	pay_attention(needs_attention());
}

void steps_finish(void)
{
	if (g.shared && !arm_is_off(&g.arm) && enter_crossing(true)) {
		if (atomic_exchange_explicit(&g.pending, false, memory_order_relaxed))
			write_step(STEP_OUTSIDE, g.number, hook_ticks());
		leave_crossing();
	}
	trigger_check_signal();
}

void steps_forget(void)
{
	trigger_forget();
	steps_seen_forget();
	g = (__typeof__(g)){ .crossing = ATOMIC_FLAG_INIT };
	hook_switch.steps = (struct steps_hot){ 0 };
}
