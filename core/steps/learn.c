/*
 * The collector's half of step learning. The library's half is preload/steps_learn.c. Both halves
 * hash launches with core/runtime/token.h.
 */
#include "core/steps/learn.h"

#include "core/steps/learn_parts.h"

enum {
	/*
	 * An anchor was wrong if it has not occurred for as many calls as LOST_ITERATIONS steps
	 * have, and for at least LOST_LEAST calls.
	 */
	LOST_ITERATIONS = 20,
	LOST_LEAST = 10000,
	/*
	 * Calls of provisional steps that may wait in memory. With more, the anchor is confirmed.
	 */
	MAX_HELD_CALLS = 1000000,
	/* Seconds; used if the library does not report PROF_LEARN_S. */
	LEARN_S = 60,
};

void learn_start(struct learn *l)
{
	*l = (struct learn){ .levels = levels_new(),
			     .state = STEP_STATE_LEARNING,
			     .asked = STEP_STATE_LEARNING };
}

void learn_stop(struct learn *l)
{
	levels_free(l->levels);
	levels_free(l->seeker);
	learn_midstep_end(&l->midstep);
	vec_free(&l->threads);
	map_free(&l->thread_of_slot);
	learn_frames_free(&l->frames);
	learn_function_free(&l->function);
	learn_loops_free(&l->loops);
	vec_free(&l->hits);
	vec_free(&l->counted);
}

static void mark_counted(const struct learn *l, struct ingest *f, const struct rec_step *step)
{
	const struct anchor a = { .has_base = true,
				  .base = atomic_load(&f->reader.header->steps.base),
				  .generation = l->generation };
	anchor_mark_counted(f, step, &a);
}

void learn_count(struct learn *l, struct ingest *f, const struct rec_step *step)
{
	if (step->generation != l->generation)
		return;
	if (l->has_base) {
		mark_counted(l, f, step);
		return;
	}
	vec_push(&l->counted, *step);
	f->holds_unnumbered = true;
	/*
	 * Keep the record with the lowest number first. It may be read late, because its thread may
	 * be read after others.
	 */
	struct rec_step *first = &l->counted.at[0];
	if (step->number < first->number) {
		l->counted.at[l->counted.n - 1] = *first;
		*first = *step;
	}
}

static bool vote(struct learn *l, const struct ingest *f, struct level_choice *out)
{
	if (learn_wants_function(f))
		return learn_function_vote(&l->function, false, out);
	return !learn_wish(l, f).loop && levels_vote(l->levels, out);
}

static bool anchor_is_lost(const struct learn *l)
{
	return l->n_since_anchor > LOST_LEAST &&
	       l->n_since_anchor > (uint64_t)l->choice.calls_per_step * LOST_ITERATIONS;
}

/*
 * Drops the anchor and all launches seen, and starts the search again, because the program does
 * other work now.
 */
static void restart_search(struct learn *l)
{
	levels_relearn(l->levels);
	learn_function_free(&l->function);
	l->function.next_look = 0;
	l->first_ticks = 0;
	learn_midstep_begin(&l->midstep);
	learn_forget_anchor(l);
}

/*
 * Searches for the anchor that follows the current one. Starts with an empty store, because the
 * stored launches belong to other work. levels_relearn() would keep them, and would also demand
 * more iterations before it accepts an anchor.
 */
static void search_next_anchor(struct learn *l)
{
	l->continues_numbers = true;
	l->state = STEP_STATE_LEARNING;
	levels_free(l->levels);
	l->levels = levels_new();
	if (!l->levels)
		return;
	restart_search(l);
	l->generation = 0; /* no STEP_COUNTED that is still to be read has this generation */
}

/* Stops the search, because neither the collector nor the library needs another anchor. */
static void stop_search(struct learn *l, struct ingest *f)
{
	restart_search(l);
	l->has_base = true;
	l->asked = STEP_STATE_LEARNING;
	learn_demand_optimizer(l, f);
	learn_confirm(l, f);
	atomic_store(&f->reader.header->steps.wants_slices, 0);
}

static void note_doubted(struct learn *l, const struct ingest *f)
{
	const struct journal_steps *shared = &f->reader.header->steps;
	memset(&l->doubted, 0, sizeof(l->doubted));
	l->doubted.anchor = atomic_load(&shared->anchor);
	l->doubted.every = atomic_load(&shared->anchor_every);
	l->doubted.calls_per_step = atomic_load(&shared->calls_per_step);
}

/*
 * Returns whether the search that the library asked for has found the steps that the library
 * already counts. An optimizer without a name is not always seen, so it was unknown until now.
 * Training that follows an evaluation is different: its steps have more calls than those before.
 */
static bool finds_the_same(const struct learn *l, const struct level_choice *now)
{
	uint64_t every = l->doubted.every ? l->doubted.every : 1,
		 n_before = l->doubted.n_anchors / every,
		 n_now = now->count / (now->every ? now->every : 1);
	return learn_is_overdue(l) && now->calls_per_step == l->doubted.calls_per_step &&
	       n_before + 1 >= n_now && n_now + 1 >= n_before;
}

/* Handles an answer of the search. */
static void take_answer(struct learn *l, struct ingest *f)
{
	if (finds_the_same(l, &l->choice)) {
		l->doubted.is_same = true;
		learn_forget_anchor(l);
		atomic_store(&f->reader.header->steps.sees_optimizer, 0);
	} else if (!learn_take_loop(l, f)) {
		learn_publish(l, f);
	}
}

/*
 * Handles changes of overdue_ticks. Returns whether the library has asked for another anchor since
 * the last call.
 */
static bool watch_overdue(struct learn *l, struct ingest *f)
{
	uint64_t ticks =
		atomic_load_explicit(&f->reader.header->steps.overdue_ticks, memory_order_acquire);
	if (ticks == l->overdue_ticks)
		return false;
	l->overdue_ticks = ticks;
	l->overdue_number = atomic_load(&f->reader.header->steps.current);
	if (ticks) {
		note_doubted(l, f);
		search_next_anchor(l);
		l->asked = STEP_STATE_OVERDUE;
		learn_demand_optimizer(l, f);
	} else if (learn_is_overdue(l) && l->levels) {
		stop_search(l, f);
	}
	l->doubted.is_same &= ticks != 0;
	return ticks;
}

/* If the library has lost a provisional anchor, the anchor was wrong and is withdrawn. */
void learn_watch(struct learn *l, struct ingest *f)
{
	const struct journal_steps *shared = &f->reader.header->steps;
	bool looks = watch_overdue(l, f);
	uint32_t n_lost = atomic_load_explicit(&shared->lost, memory_order_acquire);
	bool is_new = n_lost != l->n_lost;
	l->n_lost = n_lost;
	/*
	 * The library sets overdue_ticks only while it counts. So if the anchor was lost before, it
	 * has occurred again since. If the library does not count now, the anchor was lost after
	 * the library set overdue_ticks.
	 */
	looks = looks && step_state_is_counting(atomic_load(&shared->state));
	if (looks || !is_new)
		return;
	if (learn_is_provisional(l) && l->levels && !learn_is_overdue(l)) {
		levels_withdraw(l->levels);
		learn_forget_anchor(l);
		l->state = l->asked = STEP_STATE_WITHDRAWN;
		l->generation = 0;
		return;
	}
	l->asked = STEP_STATE_LOST;
	search_next_anchor(l);
	learn_demand_optimizer(l, f);
}

/*
 * Returns whether the lost anchor has occurred again, so that the library no longer waits for
 * another one.
 */
static bool anchor_came_back(const struct learn *l, const struct ingest *f)
{
	bool is_lost = l->asked == STEP_STATE_LOST || l->asked == STEP_STATE_WITHDRAWN;
	return is_lost && step_state_is_counting(atomic_load(&f->reader.header->steps.state)) &&
	       atomic_load(&f->reader.header->steps.lost) == l->n_lost;
}

/*
 * Publishes whether the library should record time slices instead of steps. It should once the
 * search has lasted PROF_LEARN_S seconds without an answer.
 */
static void publish_wants_slices(const struct learn *l, struct ingest *f)
{
	const char *text = tables_fact(&f->dict.t, "PROF_LEARN_S");
	uint64_t patience_ns = (uint64_t)(text ? atol(text) : LEARN_S) * 1000000000u;
	bool is_long = !learn_has_choice(l) && l->first_ticks && !learn_wish(l, f).loop &&
		       f->read_until_ticks > l->first_ticks + timebase_ticks(&f->time, patience_ns);
	atomic_store(&f->reader.header->steps.wants_slices, is_long);
}

/*
 * Returns whether steps have been recorded; with `whole_window`, whether a window of recorded steps
 * has ended. Steps in the opening do not count: all of the opening is recorded, so it can be cut
 * into other steps.
 */
static bool has_recorded(const struct ingest *f, bool whole_window)
{
	const struct ingest_opening *o = &f->opening;
	bool is_any = false;
	for (size_t i = 0; i < f->marks.n; i++) {
		bool is_in_opening = o->is_any &&
				     (!o->end_ticks || f->marks.at[i].ticks < o->end_ticks),
		     is_recorded = f->marks.at[i].action != SCHED_NONE && !is_in_opening;
		if (is_any && !is_recorded)
			return true;
		is_any |= is_recorded;
	}
	return is_any && !whole_window;
}

/*
 * Returns whether `now` only moves the boundary of the provisional steps although a window of them
 * has been recorded. The recorded window is worth more than a better boundary, so it is kept. A
 * window that is still being recorded is restarted instead, unless the process has ended.
 */
static bool moves_too_late(const struct learn *l, const struct ingest *f,
			   const struct level_choice *now, bool ended)
{
	return l->provisional_generation && now->change == LEVEL_MOVED && has_recorded(f, !ended);
}

/*
 * Returns whether the process has ended with a recorded window, and `now` would replace its steps
 * with iterations of an outer loop, none of which was recorded. The recorded steps are kept
 * because, without training, a generated token is as good a step as a whole request. Steps with an
 * optimizer always take precedence over steps without one.
 */
static bool comes_too_late(const struct learn *l, const struct ingest *f,
			   const struct level_choice *now)
{
	return l->provisional_generation && now->change == LEVEL_CORRECTED &&
	       !now->signs.has_optimizer && !l->choice.signs.has_optimizer &&
	       now->calls_per_step > l->choice.calls_per_step && has_recorded(f, true);
}

/*
 * Confirms or replaces the provisional anchor, depending on the launches read since it was
 * published.
 */
static void review(struct learn *l, struct ingest *f)
{
	struct level_choice now = l->choice;
	if (f->n_pending > MAX_HELD_CALLS)
		levels_confirm(l->levels);
	levels_vote(l->levels, &now);
	bool is_other = now.n_changes != l->choice.n_changes;
	if (is_other && moves_too_late(l, f, &now, false)) {
		levels_confirm(l->levels);
		learn_confirm(l, f);
		return;
	}
	l->choice = now;
	if (is_other) {
		learn_forget_anchor(l);
		if (!learn_take_loop(l, f))
			learn_publish(l, f);
	} else if (!now.is_provisional && !l->is_doubted) {
		learn_confirm(l, f);
	}
}

/*
 * Replaces `levels` and the published anchor if the parallel search has found steps. `ended`: no
 * more launches will come.
 */
static bool adopt_seeker(struct learn *l, struct ingest *f, bool ended)
{
	struct level_choice other = { 0 };
	learn_update_seeker(l, f);
	if (!l->seeker || !(ended ? levels_conclude : levels_vote)(l->seeker, &other))
		return false;
	levels_free(l->levels);
	l->levels = l->seeker;
	l->seeker = NULL;
	learn_forget_anchor(l);
	l->choice = other;
	learn_publish(l, f);
	return true;
}

/*
 * Publishes the time up to which launches have been searched. While the anchor is overdue, the
 * library waits for the search to reach the present.
 */
static void publish_looked_until(const struct learn *l, struct ingest *f)
{
	uint64_t settle = timebase_ticks(&f->time, LEARN_SETTLE_NS);
	bool is_this = atomic_load(&f->reader.header->steps.overdue_ticks) == l->overdue_ticks;
	if (learn_is_overdue(l) && is_this && f->read_until_ticks > settle)
		atomic_store(&f->reader.header->steps.looked_ticks, f->read_until_ticks - settle);
}

static bool tell(struct learn *l, struct ingest *f)
{
	publish_looked_until(l, f);
	if (l->levels && !l->has_base && anchor_came_back(l, f))
		stop_search(l, f);
	if (!l->levels || !learn_is_feeding(l) || learn_adopt(l, f))
		return false;
	if (learn_is_provisional(l)) {
		review(l, f);
	} else if (!learn_has_choice(l)) {
		if (!l->doubted.is_same && vote(l, f, &l->choice))
			take_answer(l, f);
		if (!learn_is_overdue(l))
			publish_wants_slices(l, f);
		return false;
	}
	if (l->has_base)
		return false;
	if (!l->counted.n) {
		if (adopt_seeker(l, f, false))
			return false;
		if (!learn_is_provisional(l) && anchor_is_lost(l)) {
			if (learn_is_overdue(l))
				l->asked = STEP_STATE_LEARNING;
			learn_demand_optimizer(l, f);
			restart_search(l);
		}
		return false;
	}
	if (!learn_publish_base(l, f))
		return false;
	learn_demand_optimizer(l, f);
	for (size_t i = 0; i < l->counted.n; i++)
		mark_counted(l, f, &l->counted.at[i]);
	return true;
}

bool learn_tell(struct learn *l, struct ingest *f)
{
	bool has_base_now = tell(l, f);
	f->holds_unnumbered = l->counted.n && !l->has_base;
	return has_base_now;
}

bool learn_end_provisional(struct learn *l, struct ingest *f)
{
	struct level_choice now = l->choice;
	adopt_seeker(l, f, true);
	if (!l->provisional_generation)
		return true;
	bool stands = learn_is_provisional(l) && levels_conclude(l->levels, &now) &&
		      (now.n_changes == l->choice.n_changes || moves_too_late(l, f, &now, true) ||
		       comes_too_late(l, f, &now));
	if (stands) {
		learn_confirm(l, f);
		return true;
	}
	learn_void_provisional(l, f, atomic_load(&f->reader.header->steps.calls_per_step));
	l->has_base = false;
	return false;
}
