/*
 * Decides between the provisional answer and later ones (core/steps/levels.h). Runs in the
 * collector.
 */
#include "core/steps/levels_parts.h"

/* An outer loop's iterations are at least this many times as long as the inner one's. */
#define LONGER 1.5
/*
 * If the number of calls from one anchor to the next has fallen below this share of the first
 * value, the anchor occurs in several loops.
 */
#define AS_RARE 0.75

/*
 * If a provisional anchor has not occurred for this many iterations, another anchor may replace it.
 */
#define STALE_ITERATIONS 3u
/*
 * The boundary of noisy steps is chosen again after this many times as many iterations as before.
 */
#define ITERATIONS_MORE 2u
/* An outer loop's iterations have at least this many times as many calls as the inner one's. */
#define AROUND 2u

static bool level_has_anchor(const struct levels *l, const struct levels_level *level,
			     uint64_t anchor)
{
	for (uint32_t i = 0; i < level->n_members; i++)
		if (l->store.trigrams.keys[level->members[i]] == anchor)
			return true;
	return false;
}

/*
 * Returns whether the steps of `now` are those of `was` but end at another launch, or `now` waits
 * longer for the anchor. The latter counts in noisy loops only, because there a few iterations do
 * not show how long to wait.
 */
static bool is_moved(const struct level_choice *was, const struct level_choice *now)
{
	bool ends_alike = was->anchor == now->anchor && was->count == now->count;
	bool waits_alike = was->backup == now->backup && was->backup_within == now->backup_within;
	return !ends_alike || (now->signs.is_noisy && !waits_alike);
}

/* Stores `choice`. If there is a provisional choice, compares both and counts a change. */
static void levels_choose(struct levels *l, const struct level_choice *choice)
{
	enum level_change change = LEVEL_UNCHANGED;
	bool is_provisional = l->state == STEP_STATE_PROVISIONAL;
	if (is_provisional) {
		enum levels_agreement agreement = levels_compare(&l->store, &l->choice, choice);
		if (agreement == LEVELS_OTHER)
			change = LEVEL_CORRECTED;
		else if (agreement == LEVELS_SAME && is_moved(&l->choice, choice))
			change = LEVEL_MOVED;
	}
	if (l->state == STEP_STATE_WITHDRAWN)
		change = LEVEL_CORRECTED;
	uint32_t n_changes = l->choice.n_changes + (change != LEVEL_UNCHANGED);
	if (!is_provisional || change != LEVEL_UNCHANGED)
		l->choice = *choice;
	l->choice.confidence = choice->confidence;
	l->choice.signs = choice->signs;
	if (change != LEVEL_UNCHANGED)
		l->choice.change = change;
	l->choice.n_changes = n_changes;
}

void levels_confirm(struct levels *l)
{
	l->choice.is_provisional = false;
	l->state = STEP_STATE_CONFIRMED;
}

/* Begins the provisional period at the last of the first `end` events. */
static void levels_begin_provisional(struct levels *l, uint32_t end)
{
	l->state = STEP_STATE_PROVISIONAL;
	l->provisional_since_events = l->store.n_forgotten + l->store.n;
	l->provisional_since_ns = l->store.events[end - 1].begin_ns;
}

void levels_note_win(struct levels *l, const struct levels_level *level,
		     const struct level_choice *choice, uint32_t end, unsigned votes)
{
	bool again = l->leader_wins && level_has_anchor(l, level, l->leader);
	l->leader_wins = again ? l->leader_wins + 1 : 1;
	l->leader = choice->anchor;
	if (l->leader_wins < votes)
		return;
	levels_choose(l, choice);
	if (choice->signs.is_noisy && votes > VOTES_WANTED_ENDED && !l->settled_until &&
	    l->state != STEP_STATE_WITHDRAWN) {
		l->choice.is_provisional = true;
		if (l->state != STEP_STATE_PROVISIONAL)
			levels_begin_provisional(l, end);
		l->settled_until = l->store.n_forgotten + end +
				   (uint64_t)ITERATIONS_MORE * choice->signs.iterations *
					   choice->calls_per_step;
		return;
	}
	levels_confirm(l);
}

static bool is_of_choice(const struct levels *l, uint64_t hash)
{
	return hash == l->choice.anchor || hash == l->choice.backup;
}

/*
 * Returns whether the provisional anchor or its backup occurred in the last STALE_ITERATIONS
 * iterations before `end`.
 */
static bool levels_anchor_comes(const struct levels *l, uint32_t end)
{
	const struct levels_store *s = &l->store;
	uint64_t patience = (uint64_t)STALE_ITERATIONS * l->choice.calls_per_step;
	for (uint32_t i = end; i-- > 0 && i + patience >= end;)
		if (is_of_choice(l, levels_store_hash(s, &s->events[i], l->choice.anchor)))
			return true;
	return false;
}

bool levels_doubts(const struct levels *l, const struct levels_level *level,
		   const struct level_belief *belief)
{
	return l->state == STEP_STATE_PROVISIONAL && belief->is_refuted &&
	       level_has_anchor(l, level, l->choice.anchor);
}

/*
 * Returns whether the provisional anchor occurs no more often than when it was chosen. If it occurs
 * more often, other loops contain it too.
 */
static bool levels_is_as_rare(const struct levels *l, uint32_t end)
{
	const struct levels_store *s = &l->store;
	uint32_t n = 0;
	for (uint32_t i = 0; i < end; i++)
		n += levels_store_hash(s, &s->events[i], l->choice.anchor) == l->choice.anchor;
	return (double)n * l->choice.calls_per_step * AS_RARE <= end;
}

/*
 * Returns whether the provisional steps are a request loop: each iteration talks to the host, is
 * longer than a layer, and occurs as often as before, and nothing around the iterations trains.
 * Such iterations are the program's steps, whatever loop encloses them.
 */
static bool is_request_loop(const struct levels *l, const struct levels_level *level, uint32_t end)
{
	return l->choice.signs.is_read && !l->is_refuted &&
	       l->choice.calls_per_step >= CALLS_OF_LAYER && !level->threads &&
	       levels_is_as_rare(l, end);
}

/*
 * Returns whether the level is an outer loop around the provisional steps, so that each of these is
 * only a part of one of its iterations.
 */
static bool is_around(const struct levels *l, const struct levels_level *level, uint32_t end)
{
	return level->talks_to_host && level->coverage >= COVERAGE_FILLS &&
	       level->calls_per_iteration >= AROUND * l->choice.calls_per_step &&
	       !is_request_loop(l, level, end);
}

/*
 * Returns whether the level may replace the provisional steps. It may if it contains an optimizer
 * or a graph, if it is an outer loop around the provisional steps, or if these steps have ended.
 */
static bool levels_may_replace(const struct levels *l, const struct levels_level *level,
			       uint32_t end)
{
	return level->optimizer || level->graph || is_around(l, level, end) ||
	       !levels_anchor_comes(l, end);
}

bool levels_may_begin_provisional(const struct levels *l, const struct levels_level *level,
				  uint32_t end)
{
	if (l->state == STEP_STATE_WITHDRAWN || l->settled_until)
		return false;
	return l->state != STEP_STATE_PROVISIONAL ||
	       (!l->choice.n_changes && levels_may_replace(l, level, end));
}

bool levels_is_last_resort(const struct levels *l, const struct levels_level *level,
			   const struct level_choice *choice, uint32_t end)
{
	return l->state == STEP_STATE_PROVISIONAL && !l->is_refuted && levels_is_as_rare(l, end) &&
	       level->calls_per_iteration < LONGER * l->choice.calls_per_step &&
	       !levels_may_replace(l, level, end) &&
	       levels_compare(&l->store, &l->choice, choice) == LEVELS_OTHER;
}

bool levels_is_settled_otherwise(const struct levels *l, const struct level_choice *choice)
{
	return l->settled_until && levels_compare(&l->store, &l->choice, choice) == LEVELS_OTHER;
}

void levels_count_provisional(struct levels *l, const struct level_choice *choice, uint32_t end)
{
	levels_choose(l, choice);
	l->choice.is_provisional = true;
	levels_begin_provisional(l, end);
}
