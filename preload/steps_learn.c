/*
 * The library's half of step detection (PROF_STEP=auto); the collector has the other half. For the
 * protocol see struct journal_steps in core/runtime/record.h.
 */
#include "preload/steps_state.h"

#include "core/runtime/log.h"
#include "preload/gpu.h"
#include "preload/gpu_records.h"
#include "preload/host.h"
#include "preload/stack.h"
#include "preload/steps_seen.h"

static struct steps_state *const g = &steps_state;

/* The anchor is lost once a thread has made the launches of LOST_ITERATIONS steps, and at least
 * LOST_LEAST launches, while no step has ended. The program has then switched to other work. An
 * evaluation between two steps is either shorter than that, or long enough that its iterations
 * count as steps. */
enum { LOST_ITERATIONS = 20, LOST_LEAST = 10000 };

/* The anchor is overdue after the launches of OVERDUE_ITERATIONS steps. Training of another model
 * may have begun; more often, an evaluation runs or one step is longer than the others. The library
 * then journals launches to find out. To limit the cost, at most one launch in IN_VAIN_SHARE may be
 * journaled without result: 3 ns per launch on average. */
enum { OVERDUE_ITERATIONS = 2, OVERDUE_LEAST = 64, IN_VAIN_SHARE = 16 };

/* The collector looks at this many launches at most when it checks steps that no optimizer ends: 50
 * ms of launches. */
enum { LOOK_MOST = 1000000 };

struct iteration_anchors steps_anchors(void)
{
	return (struct iteration_anchors){
		atomic_load_explicit(&hook_switch.steps.anchor, memory_order_relaxed),
		atomic_load_explicit(&hook_switch.steps.backup, memory_order_relaxed),
		g->within,
		g->thread,
		g->apart,
		g->every,
	};
}

static void adopt_anchor(uint32_t generation)
{
	g->generation = g->heard = generation;
	g->own = 0;
	g->by_optimizer = (enum step_optimizer)atomic_load_explicit(&g->shared->by_optimizer,
								    memory_order_relaxed);
	g->begins_training = g->was_locked && g->by_optimizer > g->trained;
	g->doubt = (struct doubt){ .is_likely = g->by_optimizer == STEP_OPTIMIZER_LIKELY };
	g->calls_per_step = atomic_load_explicit(&g->shared->calls_per_step, memory_order_relaxed);
	atomic_store_explicit(&g->n_overdue, 0, memory_order_relaxed);
	g->within = atomic_load_explicit(&g->shared->backup_within, memory_order_relaxed);
	g->thread = atomic_load_explicit(&g->shared->anchor_thread, memory_order_relaxed);
	g->apart = atomic_load_explicit(&g->shared->anchors_apart, memory_order_relaxed);
	g->every = atomic_load_explicit(&g->shared->anchor_every, memory_order_relaxed);
	g->end = atomic_load_explicit(&g->shared->end, memory_order_relaxed);
	g->is_late = atomic_load_explicit(&g->shared->is_late, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.passes, false, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.anchor_function, 0, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.backup_function, 0, memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.anchor,
			      atomic_load_explicit(&g->shared->anchor, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&hook_switch.steps.backup,
			      atomic_load_explicit(&g->shared->backup, memory_order_relaxed),
			      memory_order_relaxed);
	const struct iteration_anchors a = steps_anchors();
	iteration_begin(&g->iteration, &a);
	steps_set_state(STEP_STATE_ADOPTED);
}

/* Writes the adopted anchor to the journal, because the collector may overwrite it in the header
 * with a newer anchor before a reader has read it. */
static void write_base(uint64_t base)
{
	struct iteration_anchors a = steps_anchors();
	steps_write_record(&(struct rec_step){
		.event = STEP_NUMBERED,
		.action = (uint8_t)((g->begins_training ? NUMBERED_TRAINING : 0) |
				    (g->is_late ? NUMBERED_LATE : 0)),
		.generation = g->generation,
		.ticks = hook_ticks(),
		.number = base,
		.detail = a.anchor,
	});
	if (a.backup)
		steps_write_record(&(struct rec_step){
			.event = STEP_BACKUP,
			.generation = g->generation,
			.ticks = hook_ticks(),
			.number = a.within | (uint64_t)a.apart << 32,
			.detail = a.backup,
		});
	uint64_t lead = atomic_load_explicit(&g->shared->anchor_lead, memory_order_relaxed);
	if (a.every)
		steps_write_record(&(struct rec_step){
			.event = STEP_EVERY,
			.generation = g->generation,
			.ticks = hook_ticks(),
			.number = a.every | lead << 32,
		});
}

static bool is_sure(void)
{
	return atomic_load_explicit(&g->shared->sure_generation, memory_order_acquire) ==
	       g->generation;
}

/* Asks for a common start step with the other ranks of the job. Each rank does this once its steps
 * are confirmed. */
static void begin_with_peers(void)
{
	if (!g->arm.is_held || g->agree.waits)
		return;
	enum start_of of = g->begins_training ? START_AFTER_OTHERS
			   : g->by_optimizer  ? START_OF_TRAINING
					      : START_OF_STEPS;
	agree_begin(&g->agree, g->shared, of, g->number);
}

/* Returns whether the opening has recorded the steps so far, GPU times included. */
static bool has_recorded_all(void)
{
	return g->arm.is_opening && opening_has_gpu(&g->opening);
}

/* Returns whether the opening is over, and has recorded the first window of the schedule. */
static bool has_recorded_first(void)
{
	const struct schedule *s = &g->arm.schedule;
	uint64_t first = schedule_first_recorded(s);
	return !g->arm.is_opening && opening_has_gpu(&g->opening) && first != SCHEDULE_NEVER &&
	       first + s->active <
		       atomic_load_explicit(&g->shared->opening_steps, memory_order_relaxed);
}

/* Locks the steps. The collector has written the base, so step numbers are absolute from now on. */
static void lock_steps(void)
{
	uint64_t base = atomic_load_explicit(&g->shared->base, memory_order_relaxed),
		 next = base + g->own + 1;
	write_base(base);
	g->iteration.n_anchors -=
		(int32_t)atomic_load_explicit(&g->shared->anchor_delay, memory_order_relaxed);
	enum step_state state = is_sure() ? STEP_STATE_CONFIRMED : STEP_STATE_PROVISIONAL;
	g->before.arm = g->arm;
	g->before.number = g->number;
	g->before.was_locked = g->was_locked;
	g->before.trained = g->trained;
	g->before.waits = g->agree.waits;
	if (g->by_optimizer > g->trained)
		g->trained = g->by_optimizer;
	arm_renumber(&g->arm, g->number + 1, next);
	g->slice_ms = 0;
	if (g->was_locked && !g->begins_training) {
		/* Delay the schedule by the steps that were not counted, because they must not use
		 * up a window. With several ranks the schedule stays, so that all ranks record the
		 * same steps. */
		if (!g->has_peers && !has_recorded_all())
			arm_skip(&g->arm, next - 1 - g->number);
		atomic_store_explicit(&g->shared->schedule_shift, g->arm.shift,
				      memory_order_relaxed);
	} else if ((has_recorded_all() || has_recorded_first()) && !g->begins_training) {
		arm_locked_in_opening(&g->arm);
	} else if (!g->has_peers || arm_is_always(&g->arm)) {
		steps_begin_schedule(next);
	} else if (g->begins_training) {
		/* an answer from the collector that arrives later concerns the steps before
		 * training */
		arm_hold(&g->arm);
		g->agree.waits = false;
	}
	g->was_locked = true;
	g->number = g->known_in = next - 1;
	steps_see(g->number);
	if (g->has_peers && state == STEP_STATE_CONFIRMED)
		begin_with_peers();
	atomic_store_explicit(&g->shared->current, g->number, memory_order_relaxed);
	steps_set_state(state);
	log_line(LOG_INFO, "steps detected: the program is in step %llu%s",
		 (unsigned long long)g->number,
		 g->agree.waits	  ? "; the schedule starts once all ranks have detected their steps"
		 : g->arm.is_held ? ""
		 : g->arm.shift	  ? "; the schedule starts with the next step"
				  : "");
	steps_set_switch();
}

/* Returns whether a newer anchor voids the steps that the present one has counted. */
static bool is_replaceable(enum step_state state)
{
	return state == STEP_STATE_PROVISIONAL || state == STEP_STATE_WITHDRAWN;
}

/* Returns whether the collector has written something new. Called at each launch while steps are
 * learned; costs a few loads. */
bool steps_have_news(void)
{
	/* The acquire loads pair with the collector's release stores. Once a generation is visible,
	 * its values are valid. */
	if (atomic_load_explicit(&g->shared->anchor_generation, memory_order_acquire) != g->heard)
		return true;
	enum step_state state = steps_learn_state();
	return (is_replaceable(state) && is_sure()) ||
	       (state == STEP_STATE_ADOPTED && g->own &&
		atomic_load_explicit(&g->shared->base_generation, memory_order_acquire) ==
			g->generation);
}

/* ---- The anchor does not occur ---- */

static uint64_t calls_of_steps(uint64_t n, uint64_t least)
{
	n *= g->calls_per_step;
	return n > least ? n : least;
}

/* Returns whether the launches that were journaled without result are a small share of the launches
 * in all counted steps. */
static bool may_journal_in_vain(uint64_t number)
{
	return IN_VAIN_SHARE * atomic_load_explicit(&g->n_overdue, memory_order_relaxed) <=
	       calls_of_steps(number, 0);
}

/* Called once in STEPS_LOOK_EVERY launches of a thread. A thread that launches nothing therefore
 * never loses the anchor. */
enum lateness steps_lateness(void)
{
	if (g->mode != STEP_MODE_AUTO || !step_state_is_counting(steps_learn_state()))
		return IN_TIME;
	uint64_t number = atomic_load_explicit(&g->shared->current, memory_order_relaxed);
	if (number != hook_thread.step_seen)
		steps_see(number);
	uint32_t n = hook_thread.tokens - hook_thread.tokens_then;
	if (n > calls_of_steps(LOST_ITERATIONS, LOST_LEAST))
		return LOST;
	return n > calls_of_steps(OVERDUE_ITERATIONS, OVERDUE_LEAST) && !steps_still_learning() &&
			       may_journal_in_vain(number)
		       ? OVERDUE
		       : IN_TIME;
}

/* Ends the current window at `ticks`, because the next detected step may come much later. Does
 * nothing if recording never stops, or not yet. */
static void cut_window(uint64_t ticks)
{
	if (arm_is_always(&g->arm) || arm_is_flying(&g->arm, g->number) || g->arm.is_opening)
		return;
	if (g->action != SCHED_NONE)
		gpu_stop();
	g->action = SCHED_NONE;
	steps_write(STEP_CUT, g->number, ticks);
}

static void look_again(uint64_t n_steps)
{
	g->doubted_in = g->number;
	g->look_n = n_steps;
	g->look_from = g->look_end_ticks = 0;
	g->looked_from = atomic_load_explicit(&g->n_overdue, memory_order_relaxed);
	atomic_store_explicit(&g->shared->sees_optimizer, 0, memory_order_relaxed);
	g->heard = atomic_load_explicit(&g->shared->anchor_generation, memory_order_acquire);
	steps_set_state(STEP_STATE_OVERDUE);
	atomic_store_explicit(&g->shared->overdue_ticks, hook_ticks(), memory_order_release);
	steps_set_switch();
}

void steps_doubt(void)
{
	log_line(LOG_INFO,
		 "step %llu is unusually long: checking whether another optimizer ends steps now",
		 (unsigned long long)g->number);
	look_again(g->by_optimizer == STEP_OPTIMIZER_SURE ? 0 : DOUBT_LEAST);
}

/* Returns whether the collector should keep looking for another anchor although the anchor has
 * occurred. */
static bool keeps_looking(uint64_t ticks)
{
	uint64_t n = atomic_load_explicit(&g->n_overdue, memory_order_relaxed) - g->looked_from;
	if (g->by_optimizer == STEP_OPTIMIZER_SURE || n > LOOK_MOST)
		return false;
	uint64_t looked = atomic_load_explicit(&g->shared->looked_ticks, memory_order_relaxed);
	/* the collector has not begun to look yet */
	if (!g->look_from && looked < g->shared->overdue_ticks)
		return true;
	if (!g->look_from)
		g->look_from = g->number;
	if (g->number < g->look_from + g->look_n)
		return true;
	if (!g->look_end_ticks)
		g->look_end_ticks = ticks;
	return looked < g->look_end_ticks ||
	       atomic_load_explicit(&g->shared->sees_optimizer, memory_order_relaxed);
}

/* Keeps the anchor, which has occurred after it was overdue. */
static void trust_steps(void)
{
	doubt_over(&g->doubt, g->number - g->doubted_in);
	steps_set_state(STEP_STATE_CONFIRMED);
	atomic_store_explicit(&g->shared->overdue_ticks, 0, memory_order_release);
	steps_set_switch();
}

/* Leaves the current steps. Steps of another optimizer have replaced them since the anchor was
 * overdue. */
static void leave_steps(void)
{
	bool came = g->number != g->doubted_in;
	cut_window(came ? hook_ticks()
			: atomic_load_explicit(&g->shared->overdue_ticks, memory_order_relaxed));
	atomic_store_explicit(&g->n_overdue, 0, memory_order_relaxed);
}

/* Starts step detection anew. If the anchor occurs again before another one is found, the program
 * has only made a long pause. */
void steps_lose(void)
{
	enum step_state state = steps_learn_state();
	cut_window(hook_ticks());
	if (state == STEP_STATE_OVERDUE)
		doubt_over(&g->doubt, g->number - g->doubted_in + 1);
	atomic_store_explicit(&g->shared->overdue_ticks, 0, memory_order_release);
	g->heard = atomic_load_explicit(&g->shared->anchor_generation, memory_order_acquire);
	steps_set_state(state == STEP_STATE_PROVISIONAL ? STEP_STATE_WITHDRAWN : STEP_STATE_LOST);
	atomic_fetch_add_explicit(&g->shared->lost, 1, memory_order_release);
	log_line(LOG_INFO, "step %llu does not end: detecting steps again",
		 (unsigned long long)g->number);
	steps_set_switch();
}

void steps_find_again(void)
{
	enum step_state state = steps_learn_state();
	if (state != STEP_STATE_LOST && state != STEP_STATE_WITHDRAWN)
		return;
	steps_set_state(state == STEP_STATE_LOST ? STEP_STATE_CONFIRMED : STEP_STATE_PROVISIONAL);
	steps_set_switch();
}

/* ---- Provisional steps ---- */

static void confirm_steps(void)
{
	bool is_lost = steps_learn_state() == STEP_STATE_WITHDRAWN;
	steps_set_state(is_lost ? STEP_STATE_LOST : STEP_STATE_CONFIRMED);
	g->known_in = g->number;
	if (g->has_peers)
		begin_with_peers();
	steps_set_switch();
}

/* Voids the steps of a provisional anchor that proved wrong: restores the step number and the
 * schedule from before it. `generation`: the anchor that replaces it. */
static void take_steps_back(uint32_t generation)
{
	cut_window(hook_ticks());
	steps_write_record(&(struct rec_step){
		.event = STEP_CORRECTED,
		.generation = generation,
		.ticks = hook_ticks(),
		.number = g->number,
		.detail = g->generation,
	});
	g->number = g->before.number;
	g->was_locked = g->before.was_locked;
	g->trained = g->before.trained;
	g->agree.waits = g->before.waits;
	arm_take_back(&g->arm, &g->before.arm, g->number + 1);
	atomic_store_explicit(&g->shared->schedule_shift, g->arm.shift, memory_order_relaxed);
	atomic_store_explicit(&g->shared->current, g->number, memory_order_relaxed);
	log_line(LOG_INFO, "the detected steps were wrong: correcting step numbers");
}

void steps_read_news(void)
{
	uint32_t anchor = atomic_load_explicit(&g->shared->anchor_generation, memory_order_acquire);
	enum step_state state = steps_learn_state();
	bool corrects = anchor != g->heard && is_replaceable(state),
	     leaves = anchor != g->heard && state == STEP_STATE_OVERDUE;
	if (corrects)
		take_steps_back(anchor);
	if (leaves)
		leave_steps();
	if (anchor != g->heard)
		adopt_anchor(anchor);
	else if (is_replaceable(state) && is_sure())
		confirm_steps();
	else if (steps_have_news())
		lock_steps();
	if (corrects || leaves)
		steps_set_switch();
}

void steps_check_doubts(uint64_t ticks, uint64_t took)
{
	if (steps_learn_state() == STEP_STATE_OVERDUE) {
		if (!keeps_looking(ticks))
			trust_steps();
		return;
	}
	if (g->by_optimizer == STEP_OPTIMIZER_SURE || g->mode != STEP_MODE_AUTO ||
	    steps_still_learning())
		return;
	uint64_t n = doubt_step(&g->doubt, took,
				journal_threads() - gpu_records_threads() - host_threads());
	if (!n)
		return;
	log_line(LOG_INFO, "step %llu: checking whether an optimizer ends steps now",
		 (unsigned long long)g->number);
	look_again(n);
}

/* Makes this launch take a stack. The stack shows the launch's purpose, which helps to detect
 * steps. Only the first launches of each kind take a stack, so that the average launch pays
 * nothing. With PROF_STEP=python: every launch takes one, because several functions may make the
 * same launch. */
static void learn_stack(uint64_t hash)
{
	if (stack_masks().recorded && (g->shared->wants_function || steps_seen_is_new(hash)))
		hook_thread.wants_stack = true;
}

void steps_learn_from(uint64_t hash)
{
	if (steps_learn_state() == STEP_STATE_OVERDUE)
		atomic_fetch_add_explicit(&g->n_overdue, 1, memory_order_relaxed);
	learn_stack(hash);
}
