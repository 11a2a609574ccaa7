/*
 * Of the ways to lay the calls along the work, the one that costs least (pair_gaps.h). Several are followed at once, call by call:
 * mostly there is one, whose next call agrees with the next work, by number too. Where it does not, the ways to go on are tried until
 * all but one have become too dear. A way is a chain of pairs; all that ever were share their beginnings.
 */
#include "core/pair_align.h"

#include "core/bisect.h"
#include "core/pair_agree.h"
#include "core/pair_gaps.h"
#include "core/pair_unsure.h"

enum {
	WAYS = 12,	/* at once */
	PARKED = 16,	/* that go on at a later call */
	TOO_DEAR = 300, /* more than the best one */
	NEAR = 96,	/* works that are looked through for what agrees */
	FAR = 4096,  /* likewise, for where several in a row do; half of it is for what took long */
	CHOICES = 3, /* of them that are followed */
	BRANCHES = CHOICES + 4,
	IN_A_ROW = 4,
	COST_UNSAID = 40, /* a copy that may be another kind of one */
};

#define NO_PAIR UINT32_MAX

struct pair {
	uint32_t i, j, before; /* before: in pairs, or NO_PAIR */
};

struct way {
	uint32_t pair; /* its last, or NO_PAIR */
	uint32_t next; /* the first work that is left */
	uint32_t cost;
};

struct align {
	struct sides *s;
	VEC(struct pair) pairs;
	struct way ways[WAYS], parked[PARKED];
	size_t n_ways, n_parked;
	size_t i; /* the call that is laid */
};

static struct gap gap_to(const struct align *a, const struct way *w, size_t i, size_t j)
{
	if (w->pair == NO_PAIR)
		return (struct gap){ PAIR_START, w->next, i, j };
	return (struct gap){ a->pairs.at[w->pair].i, a->pairs.at[w->pair].j, i, j };
}

static struct way extended(struct align *a, const struct way *w, size_t i, size_t j, uint32_t more)
{
	const struct gap gap = gap_to(a, w, i, j);
	struct way longer = { (uint32_t)a->pairs.n, (uint32_t)j + 1,
			      w->cost + gap_cost(a->s, &gap) + more };
	vec_push(&a->pairs, (struct pair){ (uint32_t)i, (uint32_t)j, w->pair });
	return longer;
}

/* ---- One way, one call ---- */

static bool is_behind_last(const struct align *a, const struct way *w)
{
	return w->pair != NO_PAIR && a->pairs.at[w->pair].i + 1 == a->i &&
	       a->pairs.at[w->pair].j + 1 == w->next;
}

/* Nothing is better than the next work, with the number that is expected. */
static bool goes_on(const struct align *a, const struct way *w)
{
	if (w->next >= a->s->groups.n || !is_behind_last(a, w) || a->s->calls.at[a->i].lost ||
	    !pair_agree(a->s, a->i, w->next))
		return false;
	const struct gap gap = gap_to(a, w, a->i, w->next);
	return !gap_cost(a->s, &gap);
}

static void pass_earlier(const struct align *a, struct way *w)
{
	while (w->next < a->s->groups.n && pair_is_before(a->s, a->i, w->next))
		w->next++;
}

static bool agree_in_a_row(const struct sides *s, size_t i, size_t j)
{
	size_t n = 0;
	while (n < IN_A_ROW && i + n < s->calls.n && j + n < s->groups.n &&
	       pair_agree(s, i + n, j + n))
		n++;
	return n == IN_A_ROW || i + n == s->calls.n || j + n == s->groups.n;
}

static void add_way(struct align *a, struct way *to, size_t *n, const struct way *from, size_t j)
{
	for (size_t k = 0; k < *n; k++)
		if (to[k].next == j + 1)
			return;
	to[(*n)++] = extended(a, from, a->i, j, 0);
}

/* Where the number that is expected here says. */
static void try_expected(struct align *a, const struct way *w, struct way *to, size_t *n)
{
	const struct sides *s = a->s;
	if (w->pair == NO_PAIR)
		return;
	const struct pair *last = &a->pairs.at[w->pair];
	const struct caller *from = &s->calls.at[last->i], *c = &s->calls.at[a->i];
	size_t by_count = (size_t)w->next + (c->losses - from->losses);
	if (c->losses != from->losses && by_count < s->groups.n && pair_agree(s, a->i, by_count))
		add_way(a, to, n, w, by_count);
	if (c->unsaid != from->unsaid)
		return;
	uint32_t order = s->groups.at[last->j].order + c->expected - from->expected;
	size_t at =
		w->next + bisect(s->groups.n - w->next, k, s->groups.at[w->next + k].order < order);
	if (at < s->groups.n && s->groups.at[at].order == order && pair_agree(s, a->i, at))
		add_way(a, to, n, w, at);
}

/* A call that waits longer looks further, each time it has waited twice as long. */
static size_t farthest(const struct align *a, const struct way *w)
{
	size_t waited = w->pair == NO_PAIR ? a->i + 1 : a->i - a->pairs.at[w->pair].i;
	if (waited & (waited - 1))
		return 0;
	return waited * NEAR < FAR ? waited * NEAR : FAR;
}

static void try_next(struct align *a, const struct way *w, struct way *to, size_t *n)
{
	const struct sides *s = a->s;
	size_t far = farthest(a, w), most = *n + CHOICES;
	for (size_t k = 0; k < (far > NEAR ? far : NEAR) && w->next + k < s->groups.n; k++) {
		if (k < NEAR && *n < most && pair_agree(s, a->i, w->next + k))
			add_way(a, to, n, w, w->next + k);
		else if (k >= NEAR && agree_in_a_row(s, a->i, w->next + k))
			return add_way(a, to, n, w, w->next + k);
	}
}

/* The next work's number is higher than expected, and just as high as that of a later call should be. */
static void park_later(struct align *a, const struct way *w)
{
	const struct sides *s = a->s;
	if (w->pair == NO_PAIR || w->next >= s->groups.n || a->n_parked == PARKED)
		return;
	const struct pair *last = &a->pairs.at[w->pair];
	const struct caller *from = &s->calls.at[last->i];
	uint32_t step = s->groups.at[w->next].order - s->groups.at[last->j].order;
	size_t at =
		last->i + bisect(s->calls.n - last->i, k, from[k].expected - from->expected < step);
	if (at <= a->i || at >= s->calls.n || s->calls.at[at].unsaid != from->unsaid ||
	    s->calls.at[at].expected - from->expected != step || !pair_agree(s, at, w->next))
		return;
	a->parked[a->n_parked++] = extended(a, w, at, w->next, 0);
}

/* All ways to go on from this one, into `to`. */
static size_t branch(struct align *a, struct way *w, struct way *to)
{
	size_t n = 0;
	pass_earlier(a, w);
	if (goes_on(a, w)) {
		add_way(a, to, &n, w, w->next);
		return n;
	}
	bool agrees = w->next < a->s->groups.n && is_behind_last(a, w) &&
		      !a->s->calls.at[a->i].lost && pair_agree(a->s, a->i, w->next);
	size_t n_parked = a->n_parked;
	park_later(a, w);
	try_expected(a, w, to, &n);
	if (agrees && (agree_in_a_row(a->s, a->i, w->next) || a->n_parked > n_parked)) {
		add_way(a, to, &n, w, w->next);
		return n;
	}
	try_next(a, w, to, &n);
	if (!n && w->next < a->s->groups.n && pair_may_be_unsaid(a->s, a->i, w->next))
		to[n++] = extended(a, w, a->i, w->next, COST_UNSAID);
	to[n++] = *w; /* the call has no work */
	return n;
}

/* ---- All ways ---- */

/* As if it were to go on at the call that comes next. */
static uint32_t cost_so_far(const struct align *a, const struct way *w)
{
	const struct pair *last = w->pair == NO_PAIR ? NULL : &a->pairs.at[w->pair];
	size_t calls = last ? a->i - last->i : a->i + 1, works = last ? w->next - last->j - 1 : 0;
	return w->cost + gap_length_cost(calls, works);
}

/* Of those that go on with the same work the cheapest; those that are too dear go. */
static void choose(struct align *a, struct way *from, size_t n)
{
	uint32_t costs[WAYS * BRANCHES + PARKED];
	a->n_ways = 0;
	for (size_t k = 0; k < n; k++) { /* sorted in by cost */
		uint32_t cost = cost_so_far(a, &from[k]);
		size_t at = a->n_ways;
		for (; at && costs[at - 1] > cost; at--)
			;
		bool is_known = false;
		for (size_t x = 0; x < at && !is_known; x++)
			is_known = a->ways[x].next == from[k].next;
		if (is_known || at == WAYS)
			continue;
		size_t last = at;
		while (last < a->n_ways && a->ways[last].next != from[k].next)
			last++;
		if (last == a->n_ways && a->n_ways < WAYS)
			a->n_ways++;
		else if (last == a->n_ways)
			last--;
		memmove(&a->ways[at + 1], &a->ways[at], (last - at) * sizeof(*a->ways));
		memmove(&costs[at + 1], &costs[at], (last - at) * sizeof(*costs));
		a->ways[at] = from[k];
		costs[at] = cost;
	}
	while (a->n_ways > 1 && costs[a->n_ways - 1] > costs[0] + TOO_DEAR)
		a->n_ways--;
}

static void unpark(struct align *a, struct way *to, size_t *n)
{
	size_t kept = 0;
	for (size_t k = 0; k < a->n_parked; k++) {
		if (a->pairs.at[a->parked[k].pair].i == a->i)
			to[(*n)++] = a->parked[k];
		else
			a->parked[kept++] = a->parked[k];
	}
	a->n_parked = kept;
}

static void lay_call(struct align *a)
{
	struct way all[WAYS * BRANCHES + PARKED];
	size_t n = 0;
	for (size_t k = 0; k < a->n_ways; k++)
		n += branch(a, &a->ways[k], all + n);
	unpark(a, all, &n);
	choose(a, all, n);
}

/* Work behind the last call is of calls that are not read yet: few, for they are read before it. */
static const struct way *best_way(const struct align *a)
{
	const struct way *best = NULL;
	uint32_t least = UINT32_MAX;
	for (size_t k = 0; k < a->n_ways; k++) {
		const struct way *w = &a->ways[k];
		size_t left = a->s->groups.n - w->next;
		uint32_t cost = w->cost + (left ? COST_FOREIGN + COST_STEP * (uint32_t)left : 0);
		if (cost >= least)
			continue;
		least = cost;
		best = w;
	}
	return best;
}

void pair_align(struct sides *s)
{
	struct align a = { .s = s, .n_ways = 1 };
	gaps_learn(s);
	a.ways[0] = (struct way){ NO_PAIR, 0, 0 };
	vec_reserve(&a.pairs, s->calls.n);
	for (a.i = 0; a.i < s->calls.n; a.i++) {
		if (a.n_ways == 1 && !a.n_parked && goes_on(&a, &a.ways[0]))
			a.ways[0] = extended(&a, &a.ways[0], a.i, a.ways[0].next, 0);
		else
			lay_call(&a);
	}
	const struct way *best = best_way(&a);
	for (uint32_t k = best ? best->pair : NO_PAIR; k != NO_PAIR; k = a.pairs.at[k].before)
		s->groups.at[a.pairs.at[k].j].at = a.pairs.at[k].i;
	vec_free(&a.pairs);
	pair_drop_unsure(s);
}
