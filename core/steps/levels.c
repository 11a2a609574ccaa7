/*
 * When to think about steps, and when to believe the answer (core/steps/levels.h). The finding itself is
 * in levels_find.c and levels_boundary.c. Collector only, one thread.
 */
#include "core/steps/levels_believe.h"

#include <stdlib.h>
#include <string.h>

/* The first look, and how much more must have come for the next one: often while little has come, which is a short run or a small
 * step; then all looks together cost five times the last. */
#define FIRST_VOTE_EVENTS 5u
#define OFTEN_EVENTS	  16384u
#define VOTE_OFTEN	  1.125
#define VOTE_GROWTH	  1.25
/* Sooner where a loop lacks but a few iterations, or is to win a second time. */
#define VOTE_LEAST 1.03

/* Votes that a level must win one after the other. */
#define WINS	   2u
#define WINS_ENDED 1u
/* The smallest latter part that is asked: an end of all this share. Graphs are so few calls that eager steps before them, which
 * are often made to warm up, fill any share: of them, an end of so many events. */
#define PARTS		 4u
#define EVENTS_OF_GRAPHS 12u
/* Among so many last events there is one, if graphs are what the program runs now. */
#define GRAPH_NEAR 8u
/* A loop that covers so much is what the stretch is about. */
#define COVERAGE_FILLS 0.8
/* Turns of another loop that holds those of the first are at least so much longer. */
#define LONGER 1.5
/* Turns that have become shorter than such a share of what they were are of several loops. */
#define AS_RARE 0.75

/* An anchor provisional that did not come in so many iterations is given up for another that is as good. */
#define STALE_ITERATIONS 3u
/* A first turn that is so many times as long as most is not of the loop alone. */
#define FIRST_LONG 8u
/* An answer of fewer turns is a guess where launches come and go. */
#define ITERATIONS_GUESSED 6u
/* More turns than are demanded of nearly any loop: one that has had them and is still provisional has not come again as a loop, as a game's moves
 * that another loop stands around, though that is not known to be the step either. */
#define ITERATIONS_UNCONFIRMED 160u
/* Where steps that launches come and go in end is looked at again after so many times the iterations more. */
#define ITERATIONS_MORE 2u
/* Turns of the loop around another have so many times its calls. */
#define AROUND 2u
/* Probation ends after so many events, or so long; then the answer stands as it is. */
#define PROVISIONAL_EVENTS 500000u
#define PROVISIONAL_NS	   300000000000ull

struct levels {
	struct levels_store store;
	uint64_t next_vote_events; /* counted from the first one fed */
	uint64_t first_graph;	   /* events by the first graph launch, it included; 0: none yet */
	uint32_t
		expected; /* events of the store by when the last vote's leader may win, 0: no saying */
	uint32_t demand; /* factor on the iterations wanted, doubled by every anchor that failed */
	uint64_t leader; /* anchor of the last vote's winner */
	unsigned leader_wins; /* votes that it has won one after the other */
	bool locked;
	bool is_provisional; /* `choice` is counted, and learning goes on */
	bool is_refuted;     /* by the last vote, `choice` is only a part of the step */
	uint64_t
		settled_until; /* the steps are known, and where they end is looked at again at so many events; 0: not */
	bool was_withdrawn;		 /* no second one provisional: the next answer is final */
	uint64_t since_events, since_ns; /* of the the provisional period */
	bool wants_optimizer;
	struct level_choice choice;
};

struct levels *levels_new(void)
{
	struct levels *l = calloc(1, sizeof(*l));
	if (l) {
		l->next_vote_events = FIRST_VOTE_EVENTS;
		l->demand = 1;
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
		.demand = (l->locked || l->is_provisional) && l->demand < 1024 ? l->demand * 2
									       : l->demand,
	};
}

/* From here on a step may be far shorter than those before: looks are as near as at the beginning. */
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
	if (!rc && (l->locked || l->is_provisional))
		l->choice.count += l->choice.anchor == TOKEN_EXCHANGE
					   ? pushed.exchanges
					   : pushed.hash == l->choice.anchor;
	if (rc || l->locked)
		return rc;
	rc = levels_store_keep(&l->store, thread, event, &pushed);
	if (event->hints & LEVEL_GRAPH && !l->first_graph)
		note_first_graph(l);
	return rc;
}

static bool level_has_anchor(const struct levels *l, const struct levels_level *level,
			     uint64_t anchor)
{
	for (uint32_t i = 0; i < level->n_members; i++)
		if (l->store.trigrams.keys[level->members[i]] == anchor)
			return true;
	return false;
}

const char *level_boundary_name(enum level_boundary boundary)
{
	static const char *const names[] = {
		[LEVEL_BY_OPTIMIZER] = "optimizer.step()",
		[LEVEL_BY_GAP] = "longest CPU gap",
		[LEVEL_BY_FUNCTION] = "function call",
	};
	return boundary < sizeof(names) / sizeof(*names) ? names[boundary] : "unknown";
}

/* Whether graphs are what the program runs by now, after `end` events. */
static bool runs_graphs(const struct levels *l, uint32_t end)
{
	for (uint32_t i = end; i-- > 0 && i + GRAPH_NEAR > end;)
		if (l->store.events[i].hints & LEVEL_GRAPH)
			return true;
	return false;
}

/* Whether nearly all, up to its end, was this loop, which goes on or has ended only just: what came after is no longer than it was.
 * Eager steps before a graph's make many more calls, and are over at once. */
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
	LOOK_WAIT,  /* a loop fills the stretch and goes on, and is not to be believed yet */
	LOOK_FOUND, /* a loop to be believed */
};

/* Whether the same steps end elsewhere, or are waited for longer, as where launches come and go a few iterations have not shown how long. */
static bool is_moved(const struct level_choice *was, const struct level_choice *now)
{
	bool ends_alike = was->anchor == now->anchor && was->count == now->count;
	bool waits_alike = was->backup == now->backup && was->backup_within == now->backup_within;
	return !ends_alike || (now->signs.is_noisy && !waits_alike);
}

/* Puts `choice` in the place of what is counted provisional, if anything is. */
static void levels_choose(struct levels *l, const struct level_choice *choice)
{
	enum level_change change = LEVEL_AS_BEFORE;
	if (l->is_provisional) {
		enum levels_agreement agreement = levels_compare(&l->store, &l->choice, choice);
		if (agreement == LEVELS_OTHER)
			change = LEVEL_CORRECTED;
		else if (agreement == LEVELS_SAME && is_moved(&l->choice, choice))
			change = LEVEL_MOVED;
	}
	if (l->was_withdrawn)
		change = LEVEL_CORRECTED;
	uint32_t n_changes = l->choice.n_changes + (change != LEVEL_AS_BEFORE);
	if (!l->is_provisional || change != LEVEL_AS_BEFORE)
		l->choice = *choice;
	l->choice.confidence = choice->confidence;
	l->choice.signs = choice->signs;
	if (change != LEVEL_AS_BEFORE)
		l->choice.change = change;
	l->choice.n_changes = n_changes;
}

void levels_confirm(struct levels *l)
{
	l->is_provisional = l->choice.is_provisional = false;
	l->locked = true;
}

/* At the last of the first `end` events. */
static void levels_begin_provisional(struct levels *l, uint32_t end)
{
	l->is_provisional = true;
	l->since_events = l->store.n_forgotten + l->store.n;
	l->since_ns = l->store.events[end - 1].begin_ns;
}

/*
 * The level has won another vote; locks when it has won `wins` running. Where launches come and go its steps are settled then, but not where they
 * end: of six iterations a trigram that fails in one of nine has all as often as not.
 */
static void levels_win(struct levels *l, const struct levels_level *level,
		       const struct level_choice *choice, uint32_t end, unsigned wins)
{
	bool again = l->leader_wins && level_has_anchor(l, level, l->leader);
	l->leader_wins = again ? l->leader_wins + 1 : 1;
	l->leader = choice->anchor;
	if (l->leader_wins < wins)
		return;
	levels_choose(l, choice);
	if (choice->signs.is_noisy && wins > WINS_ENDED && !l->settled_until && !l->was_withdrawn) {
		l->choice.is_provisional = true;
		if (!l->is_provisional)
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

/* Whether the anchor provisional, or what stands in for it, still came in the last iterations before `end`. */
static bool levels_goes_on(const struct levels *l, uint32_t end)
{
	const struct levels_store *s = &l->store;
	uint64_t patience = (uint64_t)STALE_ITERATIONS * l->choice.calls_per_step;
	for (uint32_t i = end; i-- > 0 && i + patience >= end;)
		if (is_of_choice(l, levels_store_hash(s, &s->events[i], l->choice.anchor)))
			return true;
	return false;
}

/* Whether the level that a vote has found is the one that is counted provisional, and its iterations now say that it is only a part of the step. */
static bool levels_doubts(const struct levels *l, const struct levels_level *level,
			  const struct level_belief *belief)
{
	return l->is_provisional && belief->is_refuted &&
	       level_has_anchor(l, level, l->choice.anchor);
}

/* Whether what is counted provisional comes no more often than when it was chosen: else other loops have come to hold it. */
static bool levels_is_as_rare(const struct levels *l, uint32_t end)
{
	const struct levels_store *s = &l->store;
	uint32_t n = 0;
	for (uint32_t i = 0; i < end; i++)
		n += levels_store_hash(s, &s->events[i], l->choice.anchor) == l->choice.anchor;
	return (double)n * l->choice.calls_per_step * AS_RARE <= end;
}

/* Whether what is counted provisional are rounds that each ask the host, of more than a layer, which go on as ever; and nobody learns around
 * them: they are what the program does, in whatever it does them. */
static bool is_request_loop(const struct levels *l, const struct levels_level *level, uint32_t end)
{
	return l->choice.signs.is_read && !l->is_refuted &&
	       l->choice.calls_per_step >= CALLS_OF_LAYER && !level->threads &&
	       levels_is_as_rare(l, end);
}

/* Whether the level is a loop around what is counted provisional, and that only a part of its iterations. */
static bool is_around(const struct levels *l, const struct levels_level *level, uint32_t end)
{
	return level->marked && level->coverage >= COVERAGE_FILLS &&
	       level->calls_per_iteration >= AROUND * l->choice.calls_per_step &&
	       !is_request_loop(l, level, end);
}

/* Whether what is counted provisional gives way to another level: it has ended, or an optimizer or a graph tells that one, or it is the loop
 * around. */
static bool levels_gives_way(const struct levels *l, const struct levels_level *level, uint32_t end)
{
	return level->optimizer || level->graph || is_around(l, level, end) ||
	       !levels_goes_on(l, end);
}

/* Whether a level is to be counted provisional; in another one's place only once. */
static bool levels_may_try(const struct levels *l, const struct levels_level *level, uint32_t end)
{
	if (l->was_withdrawn || l->settled_until)
		return false;
	return !l->is_provisional || (!l->choice.n_changes && levels_gives_way(l, level, end));
}

/*
 * Whether a level that is believed only as nothing more comes would take the place of what is counted provisional, and its iterations are no longer:
 * of requests of many lengths some have more launches in common than all.
 */
static bool is_last_resort(const struct levels *l, const struct levels_level *level,
			   const struct level_choice *choice, uint32_t end)
{
	return l->is_provisional && !l->is_refuted && levels_is_as_rare(l, end) &&
	       level->calls_per_iteration < LONGER * l->choice.calls_per_step &&
	       !levels_gives_way(l, level, end) &&
	       levels_compare(&l->store, &l->choice, choice) == LEVELS_OTHER;
}

/* Whether other steps are settled than these. */
static bool is_settled_otherwise(const struct levels *l, const struct level_choice *choice)
{
	return l->settled_until && levels_compare(&l->store, &l->choice, choice) == LEVELS_OTHER;
}

static void levels_try(struct levels *l, const struct level_choice *choice, uint32_t end)
{
	levels_choose(l, choice);
	l->choice.is_provisional = true;
	levels_begin_provisional(l, end);
}

/* How many events there are once `n` more iterations have come: its last one is under way. */
static uint32_t end_of_iterations(const struct levels_index *x, const struct levels_level *level,
				  uint32_t n)
{
	uint32_t last = levels_index_of(x, level->reference)[level->iterations];
	return last + n * level->calls_per_iteration + 1;
}

/* Where the level's second turn begins, if the first is many times as long: it holds what is done once, as compiling, and launches that begin
 * before that are the only ones of the loop that come in both. 0: it is not, or the loop is bare, which is to begin with the stream. */
static uint32_t behind_first(const struct levels_index *x, const struct levels_level *level)
{
	const uint32_t *at = levels_index_of(x, level->reference);
	bool is_long = !level_is_bare(level) && level->iterations > 2 &&
		       at[1] - at[0] > FIRST_LONG * level->calls_per_iteration;
	return is_long ? at[1] : 0;
}

static uint32_t n_optimizers(const struct levels_store *s, const uint32_t *iteration)
{
	uint32_t n = 0;
	for (uint32_t i = iteration[0]; i < iteration[1]; i++)
		n += (s->events[i].hints & LEVEL_OPTIMIZER) != 0;
	return n;
}

static bool has_other_thread(const struct levels_store *s, const uint32_t *iteration)
{
	for (uint32_t i = iteration[0]; i < iteration[1]; i++)
		if (s->events[i].thread != s->events[iteration[0]].thread &&
		    !(s->events[i].hints & LEVEL_COPY))
			return true;
	return false;
}

/*
 * Whether a iteration without an optimizer has no backward pass either: no launch of another thread, where the last iteration has some; else it is too
 * short for one. The loss's scale may be too high in the first steps: then the optimizer's is left out, and all else comes.
 */
static bool lacks_backward(const struct levels_store *s, const uint32_t *iteration,
			   const uint32_t *last, uint32_t calls_per_iteration)
{
	if (has_other_thread(s, last))
		return !has_other_thread(s, iteration);
	return iteration[1] - iteration[0] + n_optimizers(s, last) + CALLS_OF_BACKWARD <=
	       calls_per_iteration;
}

/*
 * Where the first step of a level of an optimizer's begins, if batches of an evaluation come before, as Lightning has two of them first, whose launches
 * are a step's first ones, so that those of both are one loop that lacks the optimizer's. The last of them may be long: it has all that is
 * done before the first step. 0: there are none.
 */
static uint32_t behind_evaluation(const struct levels_store *s, const struct levels_index *x,
				  const struct levels_level *level)
{
	const uint32_t *at = levels_index_of(x, level->reference);
	uint32_t first = 0, last = level->iterations - 1;
	bool is_evaluation = false;
	if (!level->optimizer)
		return 0;
	for (; first < last && !n_optimizers(s, at + first); first++)
		is_evaluation |=
			lacks_backward(s, at + first, at + last, level->calls_per_iteration);
	return is_evaluation ? at[first] : 0;
}

/* Looks at the events [start, end) for a level to be believed. */
static enum look levels_look(struct levels *l, uint32_t start, uint32_t end, unsigned wins)
{
	const struct level_demands demands = { l->demand, l->wants_optimizer, wins == WINS_ENDED };
	struct levels_index x;
	struct levels_level level = { 0 };
	struct level_choice choice;
	struct level_belief belief = { 0 };
	if (levels_index_make(&x, &l->store, start, end))
		return LOOK_NOTHING;
	bool is_level = !levels_find(&l->store, &x, &level) && level.n_members;
	uint32_t behind = is_level ? behind_first(&x, &level) : 0;
	if (is_level && !behind)
		behind = behind_evaluation(&l->store, &x, &level);
	if (behind) {
		levels_level_free(&level);
		levels_index_free(&x);
		return levels_look(l, behind, end, wins);
	}
	if (is_level)
		belief = levels_believe(&l->store, &x, &level, &demands);
	l->is_refuted |= is_level && levels_doubts(l, &level, &belief);
	bool is_early = belief.is_promising && levels_may_try(l, &level, end);
	bool is_described = (belief.is_enough || is_early) &&
			    !levels_describe(&l->store, &x, &level, &belief.signs, &choice);
	bool fills = is_level && !belief.is_beside && level_fills(l, &x, &level);
	bool found = is_described && belief.is_enough &&
		     !(wins == WINS_ENDED && is_last_resort(l, &level, &choice, end)) &&
		     !is_settled_otherwise(l, &choice);
	/* a look amid a step knows one iteration more of its begin than of its end, which is what the next looks are for */
	if (is_described && is_early && choice.is_near_end &&
	    !(l->is_provisional && levels_compare(&l->store, &l->choice, &choice) != LEVELS_OTHER))
		levels_try(l, &choice, end);
	if (found)
		levels_win(l, &level, &choice, end, wins);
	if (found)
		l->expected = x.end + level.calls_per_iteration / 2;
	else if (belief.iterations_short)
		l->expected = end_of_iterations(&x, &level, belief.iterations_short);
	levels_level_free(&level);
	levels_index_free(&x);
	return found ? LOOK_FOUND : fills ? LOOK_WAIT : LOOK_NOTHING;
}

/* Events of the store that came before graphs, by which the looks are not counted; not of many, as each look takes its time. */
static uint32_t events_before_graphs(const struct levels *l, uint32_t end)
{
	uint64_t first = l->first_graph;
	bool is_near = first > l->store.n_forgotten &&
		       first - l->store.n_forgotten <= OFTEN_EVENTS &&
		       first - l->store.n_forgotten < end;
	return is_near ? (uint32_t)(first - l->store.n_forgotten) : 0;
}

/* One vote on the first `end` events. Set-up fills the beginning of many programs: where no loop fills all of them, the latter
 * parts are asked. Else a latter part may be all evaluation, or the layers of one forward pass. */
static void levels_vote_once(struct levels *l, uint32_t end, unsigned wins)
{
	l->is_refuted = false;
	uint32_t smallest = runs_graphs(l, end) ? 1 + end / EVENTS_OF_GRAPHS : PARTS;
	uint32_t before = runs_graphs(l, end) ? events_before_graphs(l, end) : 0;
	enum look look = before ? levels_look(l, before, end, wins) : LOOK_NOTHING;
	for (uint32_t part = 1; part <= smallest && look == LOOK_NOTHING; part *= 2)
		look = levels_look(l, end - end / part, end, wins);
	if (look != LOOK_FOUND)
		l->leader_wins = 0;
}

static bool levels_answer(struct levels *l, struct level_choice *out)
{
	if (l->locked)
		levels_store_drop_events(&l->store);
	if (l->locked || l->is_provisional)
		*out = l->choice;
	return l->locked || l->is_provisional;
}

/* What has not been refuted by then stays; what is doubted has as long again to be replaced. */
static void levels_end_provisional(struct levels *l)
{
	const struct levels_store *s = &l->store;
	uint64_t patience = l->is_refuted ? 2 : 1;
	if (!l->is_provisional || !s->n)
		return;
	if (s->n_forgotten + s->n - l->since_events < patience * PROVISIONAL_EVENTS &&
	    s->events[s->n - 1].begin_ns - l->since_ns < patience * PROVISIONAL_NS)
		return;
	levels_confirm(l);
}

void levels_withdraw(struct levels *l)
{
	l->is_provisional = false;
	l->settled_until = 0;
	l->was_withdrawn = true;
}

/* How many events of the store there are to be by the vote after that on the first `end`. */
static uint64_t next_vote(const struct levels *l, uint32_t end)
{
	uint32_t before = events_before_graphs(l, end), since = end - before;
	double most = before + since * (end < OFTEN_EVENTS ? VOTE_OFTEN : VOTE_GROWTH) + 1,
	       least = before + since * VOTE_LEAST + 1;
	if (!l->expected || l->expected >= most)
		return (uint64_t)most;
	return l->expected > least ? l->expected : (uint64_t)least;
}

/* The last look at where settled steps end: at what has come, or they stay as they are. */
static void levels_settle(struct levels *l, uint32_t end)
{
	l->leader_wins = 0;
	levels_vote_once(l, end, WINS_ENDED);
	levels_confirm(l);
}

bool levels_vote(struct levels *l, struct level_choice *out)
{
	struct levels_store *s = &l->store;
	/* On growing beginnings of what has come, so that the answer does not depend on the size of
	 * the batches. */
	while (!l->locked && l->next_vote_events <= s->n_forgotten + s->n &&
	       !levels_store_sort(s)) {
		uint64_t end = s->n;
		if (l->next_vote_events > s->n_forgotten)
			end = l->next_vote_events - s->n_forgotten;
		l->expected = 0;
		if (l->settled_until)
			levels_settle(l, (uint32_t)end);
		else
			levels_vote_once(l, (uint32_t)end, WINS);
		l->next_vote_events = l->settled_until
					      ? l->settled_until
					      : s->n_forgotten + next_vote(l, (uint32_t)end);
	}
	levels_end_provisional(l);
	return levels_answer(l, out);
}

/*
 * Whether nothing has confirmed the answer provisional: after so many iterations more than are demanded of nearly any loop; or where launches come and go, as
 * then it may be by chance that so few iterations look like a loop's, or that they looked more like one than those of the answer before. A request that
 * is answered is one however few there were.
 */
static bool is_guess(const struct levels *l)
{
	const struct level_signs *signs = &l->choice.signs;
	bool is_few = signs->iterations < ITERATIONS_GUESSED && !signs->is_read;
	bool is_unconfirmed = l->choice.count >= ITERATIONS_UNCONFIRMED;
	bool is_by_chance = is_few || l->choice.change == LEVEL_CORRECTED;
	return l->is_provisional && (is_unconfirmed || (signs->is_noisy && is_by_chance));
}

bool levels_conclude(struct levels *l, struct level_choice *out)
{
	levels_vote(l, out);
	if (!l->locked && l->settled_until)
		levels_confirm(l);
	if (!l->locked && !levels_store_sort(&l->store))
		levels_vote_once(l, l->store.n, WINS_ENDED);
	if (!l->locked && (l->is_refuted || is_guess(l)))
		levels_withdraw(l);
	return levels_answer(l, out);
}
