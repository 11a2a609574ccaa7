/*
 * When to think about steps, and when to believe the answer (core/levels.h). The finding itself is
 * in levels_find.c and levels_boundary.c. Collector only, one thread.
 */
#include "core/levels_find.h"

#include <stdlib.h>
#include <string.h>

/* The first look, and how much more must have come for the next one: often while little has come, which is a short run or a small
 * step; then all looks together cost five times the last. */
#define FIRST_VOTE_EVENTS 12u
/* Before so many only a loop that feeds graphs, or reads what they made, is believed: a parameter's making and copying looks like a loop. */
#define EVENTS_LEAST 48u
#define OFTEN_EVENTS 16384u
#define VOTE_OFTEN   1.125
#define VOTE_GROWTH  1.25
/* Sooner where a loop lacks but a few turns, or is to win a second time. */
#define VOTE_LEAST     1.03
#define TURNS_FORESEEN 3u

/*
 * Turns that must have been seen before a level is believed. What looks like a step may be a layer
 * while the first forward pass runs, one of many micro-batches before an optimizer step, or an
 * inner loop; so the less a level shows of what only steps have, the more of it must come. An optimizer
 * alone is not enough at once: a WGAN's critic steps five times before its generator does, and a step
 * that is to be captured as a graph runs three or more times before.
 */
#define TURNS_OPTIMIZER 6u
#define TURNS_MARKED	5u
#define TURNS_ENDED	3u
/* Input is copied, and nothing is ever waited for or read: of micro-batches on one thread four outer turns show what they belong to. */
#define TURNS_UNREAD	 36u
#define TURNS_BARE	 40u
#define TURNS_BARE_ENDED 20u
#define EVENTS_BARE	 400u
#define COVERAGE_BARE	 0.8
/* The smallest latter part that is asked: an end of all this share. Graphs are so few calls that eager steps before them, which
 * are often made to warm up, fill more. */
#define PARTS		4u
#define PARTS_OF_GRAPHS 64u
/* Among so many last events there is one, if graphs are what the program runs now. */
#define GRAPH_NEAR 8u
/* A loop that covers so much is what the stretch is about. */
#define COVERAGE_FILLS 0.8
/* A wait in each layer, or something that it reads back, marks a loop over layers too, and the first forward pass holds nothing else:
 * of turns as small as a layer's (CALLS_OF_LAYER) so many, or so many events, must have come for the step around them to have shown
 * itself. */
#define TURNS_MARKED_SMALL 40u
/* One or two launches over and over, with nothing else: more often a loop inside a step than one. */
#define TURNS_SINGLE 1000u
#define CALLS_SINGLE 3u
/* Launches from two threads, as backward passes do, but no optimizer yet: where kernels have names,
 * one may come after 32 micro-batches; where they have none, it cannot be told, and waiting does
 * not help. */
#define TURNS_TRAINING	     72u
#define TURNS_TRAINING_UNFED 24u
/* The program has an optimizer, and this level is not its step: something inside, or beside it. */
#define TURNS_INNER 400u
/* Around this level something talks to the host, or works on another thread: an outer loop, which would have shown itself by now. */
#define TURNS_LACKING 2000u
/* Some turns are longer than most (UNUSUAL_ENOUGH): there is a loop around this one, which shows itself as a level once it has come so often; or
 * there is none, which so many turns tell. */
#define TURNS_DESPITE 100u
/* Votes that a level must win one after the other. */
#define WINS	   2u
#define WINS_ENDED 1u
/* Requests that differ may have less in common; each is fed and answered all the same. */
#define ALIKE_REQUESTS 0.5
/* Below this, level_confidence() is that of a guess. */
#define MIN_CONFIDENCE 0.3
/* The level must still be going on: it may have missed a turn of its own at the end of what has come, and one more for each so
 * many that there were, as when the program evaluates. */
#define TURNS_PER_STALE 4u
#define MAX_STALE_TURNS 3u

struct levels {
	struct levels_store store;
	uint64_t next_vote_events; /* counted from the first one fed */
	uint32_t
		expected; /* events of the store by when the last vote's leader may win, 0: no saying */
	uint32_t demand;      /* factor on the turns wanted, doubled by every anchor that failed */
	uint64_t leader;      /* anchor of the last vote's winner */
	unsigned leader_wins; /* votes that it has won one after the other */
	bool locked;
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

void levels_want_optimizer(struct levels *l)
{
	l->wants_optimizer = true;
}

void levels_relearn(struct levels *l)
{
	levels_store_clear(&l->store);
	*l = (struct levels){
		.next_vote_events = FIRST_VOTE_EVENTS,
		.wants_optimizer = l->wants_optimizer,
		.demand = l->locked && l->demand < 1024 ? l->demand * 2 : l->demand,
	};
}

int levels_feed(struct levels *l, uint32_t thread, const struct level_event *event)
{
	uint64_t hash;
	int rc = levels_store_push(&l->store, thread, event->token, &hash);
	if (rc || l->locked) {
		l->choice.count += !rc && hash == l->choice.anchor;
		return rc;
	}
	return levels_store_keep(&l->store, thread, event, hash);
}

/* How sure: alike turns that fill the stretch, with no other loop that explains nearly as much. */
static double level_confidence(const struct levels_level *level)
{
	double turns = 1 - 1.0 / level->turns;
	double alike = level->alike > ALIKE_REQUESTS ? level->alike : ALIKE_REQUESTS;
	return level->coverage * turns * alike;
}

static bool level_is_current(const struct levels_index *x, const struct levels_level *level)
{
	uint32_t last = levels_index_of(x, level->reference)[level->turns];
	uint32_t stale = 1 + level->turns / TURNS_PER_STALE;
	stale = stale < MAX_STALE_TURNS ? stale : MAX_STALE_TURNS;
	return x->end - last <= stale * level->calls_per_turn;
}

/* Hints of the latter half of the stretch. */
static uint32_t late_hints(const struct levels *l, const struct levels_index *x)
{
	uint32_t hints = 0;
	for (uint32_t i = x->start + (x->end - x->start) / 2; i < x->end; i++)
		hints |= l->store.events[i].hints;
	return hints;
}

/* How many turns of this level make it believable; `ended`: nothing more will come, so there is
 * nothing to wait for. */
static uint32_t level_turns_wanted(const struct levels *l, const struct levels_index *x,
				   const struct levels_level *level, bool ended)
{
	uint32_t hints = late_hints(l, x);
	/* unlike neighbours: what they alternate in must have shown itself as a level of its own */
	uint32_t round = level->round;
	if (level->optimizer)
		return ended ? TURNS_ENDED : TURNS_OPTIMIZER * round;
	if (!ended && hints & LEVEL_OPTIMIZER)
		return TURNS_INNER;
	if (!ended && level->threads && !level->tail)
		return level->fed || hints & LEVEL_NAMED ? TURNS_TRAINING : TURNS_TRAINING_UNFED;
	if (level->tail)
		return TURNS_OPTIMIZER * round;
	if (!ended && level->fed && !level->read && !level->graph)
		return TURNS_UNREAD;
	if (level->marked && (ended || level->fed || level->graph || x->end >= EVENTS_BARE ||
			      level->calls_per_turn >= CALLS_OF_LAYER))
		return TURNS_MARKED * round;
	if (level->marked)
		return TURNS_MARKED_SMALL;
	if (ended)
		return TURNS_BARE_ENDED;
	return level->calls_per_turn < CALLS_SINGLE ? TURNS_SINGLE : TURNS_BARE;
}

/* A graph that is fed, or whose results are read, is all the work of a step. */
static bool level_is_graph(const struct levels_level *level)
{
	return level->graph && (level->fed || level->read);
}

static bool level_is_enough(struct levels *l, const struct levels_index *x,
			    const struct levels_level *level, bool ended)
{
	if (level_confidence(level) < MIN_CONFIDENCE || !level_is_current(x, level))
		return false;
	if (l->wants_optimizer && !level->optimizer)
		return false;
	if (!ended && x->end - x->start < EVENTS_LEAST && !level_is_graph(level))
		return false;
	/* What it lacks is around it: there is an outer loop, which is the step. */
	bool lacks = !level->optimizer && !level->tail && !level->outer_seen &&
		     ((!level->threads && level->inside & LEVEL_THREADS) ||
		      (!level->marked && level->inside & ~LEVEL_THREADS));
	if (!ended && lacks && level->turns < TURNS_LACKING)
		return false;
	/* A bare one of the whole stream only: the latter part of any program is full of bare
	 * loops, and so is a first step. */
	bool is_bare = !level->optimizer && !level->marked && !level->tail;
	bool may_be_inner = !level->optimizer && !level->tail && !level->outer_seen &&
			    level->unusual && level->unusual < UNUSUAL_ENOUGH;
	if (!ended && may_be_inner && level->turns < TURNS_DESPITE)
		return false;
	if (is_bare && (x->start || x->end < EVENTS_BARE || level->coverage < COVERAGE_BARE))
		return false;
	uint32_t wanted = level_turns_wanted(l, x, level, ended) * l->demand;
	if (level->turns < wanted && wanted - level->turns <= TURNS_FORESEEN)
		l->expected = x->end + (wanted - level->turns) * level->calls_per_turn;
	return level->turns >= wanted;
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
		[LEVEL_BY_OPTIMIZER] = "after the optimizer",
		[LEVEL_BY_GAP] = "longest host gap",
		[LEVEL_BY_FUNCTION] = "the function's call",
	};
	return boundary < sizeof(names) / sizeof(*names) ? names[boundary] : "unknown";
}

struct anchor_count {
	uint64_t n, n_missed;
};

/*
 * The first step may end with other launches than the rest: SGD makes its momentum's buffers in it. Then all but few of the level's
 * trigrams have come once more than the anchor, by the time when it came last.
 */
static struct anchor_count count_anchor(const struct levels_store *s,
					const struct levels_level *level, uint32_t trigram)
{
	struct anchor_count c = { 0 };
	uint32_t end = s->n, n_more = 0;
	uint64_t *counts = calloc(s->trigrams.used + 1, sizeof(*counts));
	while (end && s->events[end - 1].trigram != trigram)
		end--;
	for (uint32_t i = 0; i < end; i++) {
		c.n += s->events[i].trigram == trigram;
		if (counts)
			counts[s->events[i].trigram]++;
	}
	for (uint32_t m = 0; counts && m < level->n_members; m++)
		n_more += counts[level->members[m]] == c.n + 1;
	c.n_missed = n_more * 2 > level->n_members;
	free(counts);
	return c;
}

/* Whether the backup came in a step before the first that the anchor ended: it is among those that levels_count_missed() counts. */
static bool backup_has_first(const struct levels_store *s, const struct level_choice *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n && c->backup; i++) {
		uint64_t hash = s->trigrams.keys[s->events[i].trigram];
		if (hash == c->anchor)
			break;
		n += hash == c->backup;
	}
	return n > 1;
}

/* Describes the winner's boundary in `out`. 0 or -ENOMEM. */
static int level_describe(const struct levels *l, const struct levels_index *x,
			  const struct levels_level *level, struct level_choice *out)
{
	const struct levels_store *s = &l->store;
	uint32_t trigram;
	enum level_boundary how;
	int rc = levels_find_boundary(s, x, level, &trigram, &how);
	if (rc)
		return rc;
	struct anchor_count count = count_anchor(s, level, trigram);
	*out = (struct level_choice){
		.anchor = s->trigrams.keys[trigram],
		.thread = s->events[levels_index_of(x, trigram)[0]].thread,
		.calls_per_step = level->calls_per_turn,
		.count = count.n + count.n_missed,
		.n_missed = count.n_missed,
		.confidence = level_confidence(level),
		.boundary = how,
	};
	levels_find_backup(s, x, level, trigram, out);
	out->count += levels_count_missed(s, out) - (out->n_missed && backup_has_first(s, out));
	return 0;
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
	uint32_t first = at[0], last = at[level->turns];
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

/* Looks at the events [start, end); locks when the level to be believed has won `wins` times running. */
static enum look levels_look(struct levels *l, uint32_t start, uint32_t end, unsigned wins)
{
	struct levels_index x;
	struct levels_level level = { 0 };
	struct level_choice choice;
	if (levels_index_make(&x, &l->store, start, end))
		return LOOK_NOTHING;
	bool is_level = !levels_find(&l->store, &x, &level) && level.n_members;
	bool found = is_level && level_is_enough(l, &x, &level, wins == WINS_ENDED) &&
		     !level_describe(l, &x, &level, &choice);
	bool fills = is_level && level_fills(l, &x, &level);
	if (found) {
		l->leader_wins = l->leader_wins && level_has_anchor(l, &level, l->leader)
					 ? l->leader_wins + 1
					 : 1;
		l->leader = choice.anchor;
		l->expected = x.end + level.calls_per_turn / 2;
		l->locked = l->leader_wins >= wins;
		if (l->locked)
			l->choice = choice;
	}
	levels_level_free(&level);
	levels_index_free(&x);
	return found ? LOOK_FOUND : fills ? LOOK_WAIT : LOOK_NOTHING;
}

/* One vote on the first `end` events. Set-up fills the beginning of many programs: where no loop fills all of them, the latter
 * parts are asked. Else a latter part may be all evaluation, or the layers of one forward pass. */
static void levels_vote_once(struct levels *l, uint32_t end, unsigned wins)
{
	uint32_t smallest = runs_graphs(l, end) ? PARTS_OF_GRAPHS : PARTS;
	enum look look = LOOK_NOTHING;
	for (uint32_t part = 1; part <= smallest && look == LOOK_NOTHING; part *= 2)
		look = levels_look(l, end - end / part, end, wins);
	if (look != LOOK_FOUND)
		l->leader_wins = 0;
}

static bool levels_answer(struct levels *l, struct level_choice *out)
{
	if (l->locked) {
		levels_store_drop_events(&l->store);
		*out = l->choice;
	}
	return l->locked;
}

/* How many events of the store there are to be by the vote after that on the first `end`. */
static uint64_t next_vote(const struct levels *l, uint32_t end)
{
	double most = (double)end * (end < OFTEN_EVENTS ? VOTE_OFTEN : VOTE_GROWTH),
	       least = (double)end * VOTE_LEAST + 1;
	if (!l->expected || l->expected >= most)
		return (uint64_t)most;
	return l->expected > least ? l->expected : (uint64_t)least;
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
		levels_vote_once(l, (uint32_t)end, WINS);
		l->next_vote_events = s->n_forgotten + next_vote(l, (uint32_t)end);
	}
	return levels_answer(l, out);
}

bool levels_conclude(struct levels *l, struct level_choice *out)
{
	if (!levels_vote(l, out) && !levels_store_sort(&l->store))
		levels_vote_once(l, l->store.n, WINS_ENDED);
	return levels_answer(l, out);
}
