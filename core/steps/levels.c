/*
 * Decides when to search for steps, and when to accept an answer (core/steps/levels.h). The search
 * itself is in levels_find.c and levels_boundary.c, and levels_provisional.c decides between
 * answers. Runs in one thread of the collector.
 */
#include "core/steps/levels_parts.h"

#include <stdlib.h>
#include <string.h>

/*
 * A vote is one search for the step. The first vote takes place after FIRST_VOTE_EVENTS events.
 * Each later vote takes place when the number of events has grown by a factor. The factor is
 * smaller below OFTEN_EVENTS events, because the program may be short or have a small step. Above
 * OFTEN_EVENTS, all votes together take five times as long as the last one.
 */
#define FIRST_VOTE_EVENTS 5u
#define OFTEN_EVENTS	  16384u
#define VOTE_OFTEN	  1.125
#define VOTE_GROWTH	  1.25
/* If a loop lacks only a few iterations, or still has to win a second vote, the next vote may come
 * earlier: once the number of events has grown by this factor. */
#define VOTE_LEAST 1.03

/*
 * If no loop fills all events, their latter parts are searched. The smallest part is the last
 * quarter of the events. Where graphs run, the smallest part is about EVENTS_OF_GRAPHS events: a
 * step with graphs needs few calls, so the eager steps before, often run as warm-up, may fill any
 * share of the events.
 */
#define PARTS		 4u
#define EVENTS_OF_GRAPHS 12u
/* The program counts as running graphs if one of the last GRAPH_NEAR events is a graph launch. */
#define GRAPH_NEAR 8u
/* In noisy loops, an answer from fewer iterations is a guess. */
#define ITERATIONS_GUESSED 6u
/*
 * More iterations than nearly any loop needs for a final answer. An answer that is still
 * provisional after this many belongs to a loop that occurred only once, such as the moves of a
 * game. An outer loop encloses it, but the outer loop is not known to be the step either.
 */
#define ITERATIONS_UNCONFIRMED 160u
/* A provisional answer becomes final after this many events, or after this time. */
#define PROVISIONAL_EVENTS 500000u
#define PROVISIONAL_NS	   300000000000ull

struct levels *levels_new(void)
{
	struct levels *l = calloc(1, sizeof(*l));
	if (l) {
		l->next_vote_events = FIRST_VOTE_EVENTS;
		l->demand = 1;
		l->state = STEP_STATE_LEARNING;
	}
	return l;
}

void levels_free(struct levels *l)
{
	if (!l)
		return;
	levels_store_clear(&l->store);
	free(l);
}

void levels_want_optimizer(struct levels *l, bool wants)
{
	l->wants_optimizer = wants;
}

void levels_relearn(struct levels *l)
{
	levels_store_clear(&l->store);
	*l = (struct levels){
		.next_vote_events = FIRST_VOTE_EVENTS,
		.wants_optimizer = l->wants_optimizer,
		.state = STEP_STATE_LEARNING,
		.demand = step_state_is_counting(l->state) && l->demand < 1024 ? l->demand * 2
									       : l->demand,
	};
}

/* Makes the next vote take place soon, because a step with graphs may have far fewer launches. */
static void note_first_graph(struct levels *l)
{
	l->first_graph = l->store.n_forgotten + l->store.n;
	uint64_t soon = l->first_graph + FIRST_VOTE_EVENTS;
	if (soon < l->next_vote_events)
		l->next_vote_events = soon;
}

int levels_feed(struct levels *l, uint32_t thread, const struct level_event *event)
{
	struct levels_pushed pushed;
	int rc = levels_store_push(&l->store, thread, event->token, &pushed);
	if (!rc && step_state_is_counting(l->state))
		l->choice.count += l->choice.anchor == TOKEN_EXCHANGE
					   ? pushed.exchanges
					   : pushed.hash == l->choice.anchor;
	if (rc || l->state == STEP_STATE_CONFIRMED)
		return rc;
	rc = levels_store_keep(&l->store, thread, event, &pushed);
	if (event->hints & LEVEL_GRAPH && !l->first_graph)
		note_first_graph(l);
	return rc;
}

const char *level_boundary_name(enum level_boundary boundary)
{
	static const char *const names[] = {
		[LEVEL_BY_OPTIMIZER] = "optimizer.step()",
		[LEVEL_BY_GAP] = "longest CPU gap",
		[LEVEL_BY_FUNCTION] = "function call",
		[LEVEL_BY_LOOP] = "loop",
	};
	return boundary < sizeof(names) / sizeof(*names) ? names[boundary] : "unknown";
}

/* Returns whether the program is running graphs at event number `end`. */
static bool runs_graphs(const struct levels *l, uint32_t end)
{
	for (uint32_t i = end; i-- > 0 && i + GRAPH_NEAR > end;)
		if (l->store.events[i].hints & LEVEL_GRAPH)
			return true;
	return false;
}

/*
 * Returns whether the level fills nearly all events up to its own end, and either continues, or has
 * ended no longer ago than it lasted. Eager steps before graphs have many more calls and end at
 * once, so if graphs run, only a level that continues counts.
 */
static bool level_fills(const struct levels *l, const struct levels_index *x,
			const struct levels_level *level)
{
	const uint32_t *at = levels_index_of(x, level->reference);
	uint32_t first = at[0], last = at[level->iterations];
	if (last - first < COVERAGE_FILLS * (last - x->start))
		return false;
	return level_is_current(x, level) ||
	       (!runs_graphs(l, x->end) && x->end - last <= last - first);
}

enum look {
	LOOK_NOTHING,
	LOOK_WAIT,  /* a loop fills the events and continues, but cannot be accepted yet */
	LOOK_FOUND, /* a loop was accepted */
};

/*
 * Returns the number of stored events at which `n` more iterations will have ended, including the
 * iteration under way.
 */
static uint32_t end_of_iterations(const struct levels_index *x, const struct levels_level *level,
				  uint32_t n)
{
	uint32_t last = levels_index_of(x, level->reference)[level->iterations];
	return last + n * level->calls_per_iteration + 1;
}

/*
 * Searches the events [start, end) for a level. Accepts it if it has enough iterations and wins
 * `votes` votes.
 */
static enum look levels_look(struct levels *l, uint32_t start, uint32_t end, unsigned votes)
{
	const struct level_demands demands = { l->demand, l->wants_optimizer,
					       votes == VOTES_WANTED_ENDED };
	struct levels_index x;
	struct levels_level level = { 0 };
	struct level_choice choice;
	struct level_belief belief = { 0 };
	if (levels_index_make(&x, &l->store, start, end))
		return LOOK_NOTHING;
	bool is_level = !levels_find(&l->store, &x, &level) && level.n_members;
	uint32_t begin = is_level ? levels_begin_of_second(&x, &level) : 0;
	if (is_level && !begin)
		begin = levels_begin_after_evaluation(&l->store, &x, &level);
	if (begin) {
		levels_level_free(&level);
		levels_index_free(&x);
		return levels_look(l, begin, end, votes);
	}
	if (is_level)
		belief = levels_believe(&l->store, &x, &level, &demands);
	l->is_refuted |= is_level && levels_doubts(l, &level, &belief);
	bool is_early = belief.is_promising && levels_may_begin_provisional(l, &level, end);
	bool is_described = (belief.is_enough || is_early) &&
			    !levels_describe(&l->store, &x, &level, &belief.signs, &choice);
	bool fills = is_level && !belief.optimizer_outside && level_fills(l, &x, &level);
	bool found =
		is_described && belief.is_enough &&
		!(votes == VOTES_WANTED_ENDED && levels_is_last_resort(l, &level, &choice, end)) &&
		!levels_is_settled_otherwise(l, &choice);
	/*
	 * Require is_near_end: in the middle of a step, its first launches have occurred once more
	 * than its last ones, so the boundary may be wrong. Then a later vote decides.
	 */
	if (is_described && is_early && choice.is_near_end &&
	    !(l->state == STEP_STATE_PROVISIONAL &&
	      levels_compare(&l->store, &l->choice, &choice) != LEVELS_OTHER))
		levels_count_provisional(l, &choice, end);
	if (found)
		levels_note_win(l, &level, &choice, end, votes);
	if (found)
		l->expected = x.end + level.calls_per_iteration / 2;
	else if (belief.iterations_short)
		l->expected = end_of_iterations(&x, &level, belief.iterations_short);
	levels_level_free(&level);
	levels_index_free(&x);
	return found ? LOOK_FOUND : fills ? LOOK_WAIT : LOOK_NOTHING;
}

/*
 * Returns how many stored events precede the first graph. The interval between votes is computed
 * without these events. Returns 0 if there are many of them, because each search takes time.
 */
static uint32_t events_before_graphs(const struct levels *l, uint32_t end)
{
	uint64_t first = l->first_graph;
	bool is_near = first > l->store.n_forgotten &&
		       first - l->store.n_forgotten <= OFTEN_EVENTS &&
		       first - l->store.n_forgotten < end;
	return is_near ? (uint32_t)(first - l->store.n_forgotten) : 0;
}

/*
 * Holds one vote on the first `end` events. Many programs begin with set-up, so if no loop fills
 * all events, their latter parts are searched. If a loop does, they are not searched: a latter part
 * may contain only an evaluation, or the layers of one forward pass.
 */
static void levels_vote_once(struct levels *l, uint32_t end, unsigned votes)
{
	l->is_refuted = false;
	uint32_t smallest = runs_graphs(l, end) ? 1 + end / EVENTS_OF_GRAPHS : PARTS;
	uint32_t before = runs_graphs(l, end) ? events_before_graphs(l, end) : 0;
	enum look look = before ? levels_look(l, before, end, votes) : LOOK_NOTHING;
	for (uint32_t part = 1; part <= smallest && look == LOOK_NOTHING; part *= 2)
		look = levels_look(l, end - end / part, end, votes);
	if (look != LOOK_FOUND)
		l->leader_wins = 0;
}

static bool levels_answer(struct levels *l, struct level_choice *out)
{
	if (l->state == STEP_STATE_CONFIRMED)
		levels_store_drop_events(&l->store);
	if (step_state_is_counting(l->state))
		*out = l->choice;
	return step_state_is_counting(l->state);
}

/*
 * Makes a provisional answer final when its time is over. If the last vote refuted it, it stays
 * provisional for twice that time, so that another answer can replace it.
 */
static void levels_end_provisional(struct levels *l)
{
	const struct levels_store *s = &l->store;
	uint64_t patience = l->is_refuted ? 2 : 1;
	if (l->state != STEP_STATE_PROVISIONAL || !s->n)
		return;
	if (s->n_forgotten + s->n - l->provisional_since_events < patience * PROVISIONAL_EVENTS &&
	    s->events[s->n - 1].begin_ns - l->provisional_since_ns < patience * PROVISIONAL_NS)
		return;
	levels_confirm(l);
}

void levels_withdraw(struct levels *l)
{
	l->state = STEP_STATE_WITHDRAWN;
	l->settled_until = 0;
}

/*
 * Returns how many stored events are needed for the vote after the one on the first `end` events.
 */
static uint64_t next_vote(const struct levels *l, uint32_t end)
{
	uint32_t before = events_before_graphs(l, end), since = end - before;
	double most = before + since * (end < OFTEN_EVENTS ? VOTE_OFTEN : VOTE_GROWTH) + 1,
	       least = before + since * VOTE_LEAST + 1;
	if (!l->expected || l->expected >= most)
		return (uint64_t)most;
	return l->expected > least ? l->expected : (uint64_t)least;
}

/*
 * Chooses the boundary of settled steps a last time. Keeps the current boundary if no better one is
 * found.
 */
static void levels_settle(struct levels *l, uint32_t end)
{
	l->leader_wins = 0;
	levels_vote_once(l, end, VOTES_WANTED_ENDED);
	levels_confirm(l);
}

bool levels_vote(struct levels *l, struct level_choice *out)
{
	struct levels_store *s = &l->store;
	/*
	 * Vote on growing prefixes of the events, so that the result does not depend on the size of
	 * batches.
	 */
	while (l->state != STEP_STATE_CONFIRMED && l->next_vote_events <= s->n_forgotten + s->n &&
	       !levels_store_sort(s)) {
		uint64_t end = s->n;
		if (l->next_vote_events > s->n_forgotten)
			end = l->next_vote_events - s->n_forgotten;
		l->expected = 0;
		if (l->settled_until)
			levels_settle(l, (uint32_t)end);
		else
			levels_vote_once(l, (uint32_t)end, VOTES_WANTED);
		l->next_vote_events = l->settled_until
					      ? l->settled_until
					      : s->n_forgotten + next_vote(l, (uint32_t)end);
	}
	levels_end_provisional(l);
	return levels_answer(l, out);
}

/*
 * Returns whether the provisional answer is still a guess at the end of the program. The answer is
 * a guess if it has had more iterations than nearly any loop needs without being confirmed. In a
 * noisy loop, it is also a guess if there were only a few iterations, or if it replaced another
 * answer, because it may look right by chance. Answered requests are not a guess, however few there
 * were.
 */
static bool is_guess(const struct levels *l)
{
	const struct level_signs *signs = &l->choice.signs;
	bool is_few = signs->iterations < ITERATIONS_GUESSED && !signs->is_read;
	bool is_unconfirmed = l->choice.count >= ITERATIONS_UNCONFIRMED;
	bool is_by_chance = is_few || l->choice.change == LEVEL_CORRECTED;
	return l->state == STEP_STATE_PROVISIONAL &&
	       (is_unconfirmed || (signs->is_noisy && is_by_chance));
}

bool levels_conclude(struct levels *l, struct level_choice *out)
{
	levels_vote(l, out);
	if (l->settled_until)
		levels_confirm(l);
	if (l->state != STEP_STATE_CONFIRMED && !levels_store_sort(&l->store))
		levels_vote_once(l, l->store.n, VOTES_WANTED_ENDED);
	if (l->state != STEP_STATE_CONFIRMED && (l->is_refuted || is_guess(l)))
		levels_withdraw(l);
	return levels_answer(l, out);
}
