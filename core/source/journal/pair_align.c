/*
 * See pair_align.h. Finds the cheapest alignment of calls and groups of work (costs: pair_gaps.h).
 * Goes from call to call and follows several paths at once. A path is a chain of pairs of a call
 * and a group; paths share their beginnings. Mostly there is one path, and the next call agrees
 * with the next group, also in its id. Where it does not, alternative paths are followed until all
 * but one have become too expensive.
 */
#include "core/source/journal/pair_align.h"

#include "core/source/journal/pair_agree.h"
#include "core/source/journal/pair_gaps.h"
#include "core/source/journal/pair_unsure.h"
#include "core/util/bisect.h"

enum {
	MAX_PATHS = 12,	      /* paths followed at once */
	MAX_PARKED = 16,      /* paths that continue at a later call */
	MAX_EXTRA_COST = 300, /* drop a path that costs this much more than the best path */
	NEAR = 96,	      /* groups searched for one that agrees */
	/*
	 * Upper limit of groups searched for several that agree in a row. The search grows while a
	 * call stays without work.
	 */
	FAR = 4096,
	CHOICES = 3, /* how many of the NEAR groups that agree are followed */
	BRANCHES = CHOICES + 4,
	IN_A_ROW = 4,
	SURE = 40, /* a pair is unsure if a path without it costs at most this much more */
	RIVAL_STEPS = 1 << 24, /* limit of steps back along rivals, in total */
	COST_NO_SIZE = 40,     /* for pairing a copy call without a byte count */
};

#define NO_PAIR UINT32_MAX

struct pair {
	/* a call, its group, and the index of the path's previous pair, or NO_PAIR */
	uint32_t i, j, before;
};

struct path {
	uint32_t pair; /* index of the path's last pair, or NO_PAIR */
	uint32_t next; /* index of the first group that is not used or skipped */
	uint32_t cost;
};

/*
 * A path that was dropped because another path with nearly the same cost continues with the same
 * group. `of`: the other path's last pair at that time. `pair`: the dropped path's last pair. `i`:
 * the call that was being aligned.
 */
struct rival {
	uint32_t of, pair, i;
};

struct align {
	struct sides *s;
	VEC(struct rival) rivals;
	VEC(struct pair) pairs;
	struct path paths[MAX_PATHS], parked[MAX_PARKED];
	size_t n_paths, n_parked;
	uint32_t first; /* index of the first group that did not begin before all calls */
	size_t i;	/* index of the call being aligned */
	bool has_waits; /* see gaps_have_waits(); set at the end, unsure pairs included */
};

static struct gap gap_to(const struct align *a, const struct path *w, size_t i, size_t j)
{
	if (w->pair == NO_PAIR)
		return (struct gap){ PAIR_START, a->first, i, j };
	return (struct gap){ a->pairs.at[w->pair].i, a->pairs.at[w->pair].j, i, j };
}

/*
 * Returns whether recording resumed between the path's last pair and call `i`. Then the work in
 * between belongs to an unknown number of unrecorded calls.
 */
static bool has_unknown_gap_before(const struct align *a, const struct path *w, size_t i)
{
	const struct caller *calls = a->s->calls.at;
	return w->pair != NO_PAIR &&
	       calls[a->pairs.at[w->pair].i].n_unknown_gaps != calls[i].n_unknown_gaps;
}

static struct path extended(struct align *a, const struct path *w, size_t i, size_t j,
			    uint32_t more)
{
	const struct gap gap = gap_to(a, w, i, j);
	struct path longer = { (uint32_t)a->pairs.n, (uint32_t)j + 1,
			       w->cost + gap_cost(a->s, &gap) + more };
	vec_push(&a->pairs, (struct pair){ (uint32_t)i, (uint32_t)j, w->pair });
	return longer;
}

/* ---- One path and one call ---- */

static bool follows_last_pair(const struct align *a, const struct path *w)
{
	return w->pair != NO_PAIR && a->pairs.at[w->pair].i + 1 == a->i &&
	       a->pairs.at[w->pair].j + 1 == w->next;
}

/*
 * Returns whether the next group agrees with the call and has the expected id. No other
 * continuation can be cheaper.
 */
static bool continues_exactly(const struct align *a, const struct path *w)
{
	if (w->next >= a->s->groups.n || !follows_last_pair(a, w) || a->s->calls.at[a->i].lost ||
	    !pair_agree(a->s, a->i, w->next))
		return false;
	const struct gap gap = gap_to(a, w, a->i, w->next);
	return !gap_cost(a->s, &gap);
}

static void skip_earlier(const struct align *a, struct path *w)
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

static void add_path(struct align *a, struct path *to, size_t *n, const struct path *from, size_t j)
{
	for (size_t k = 0; k < *n; k++)
		if (to[k].next == j + 1)
			return;
	to[(*n)++] = extended(a, from, a->i, j, 0);
}

/*
 * Continues the path with group `at`, whose distance is the number of unrecorded calls. If that
 * does not agree, uses the nearest group that does: some of the unrecorded calls may have no work,
 * or two groups.
 */
static void try_counted(struct align *a, const struct path *w, size_t at, struct path *to,
			size_t *n)
{
	const struct sides *s = a->s;
	if (at >= w->next && at < s->groups.n && pair_agree(s, a->i, at))
		return add_path(a, to, n, w, at);
	for (size_t k = 1; s->calls.at[a->i].lost > NEAR && k <= NEAR; k++) {
		if (at + k >= w->next && at + k < s->groups.n && agree_in_a_row(s, a->i, at + k))
			return add_path(a, to, n, w, at + k);
		if (at >= w->next + k && at - k < s->groups.n && agree_in_a_row(s, a->i, at - k))
			return add_path(a, to, n, w, at - k);
	}
}

/* Continues the path with the group that has the expected id. */
static void try_expected(struct align *a, const struct path *w, struct path *to, size_t *n)
{
	const struct sides *s = a->s;
	const struct caller *c = &s->calls.at[a->i];
	if (w->pair == NO_PAIR) {
		if (s->begins_late && !c->n_unknown_gaps &&
		    s->first_left + c->sum_lost >= s->n_gone)
			try_counted(a, w, s->first_left + c->sum_lost - s->n_gone, to, n);
		return;
	}
	/* a copy, because vec_push() moves the pairs when paths are added */
	const struct pair last = a->pairs.at[w->pair];
	const struct caller *from = &s->calls.at[last.i];
	if (c->sum_lost != from->sum_lost && c->n_unknown_gaps == from->n_unknown_gaps)
		try_counted(a, w, last.j + 1 + (c->sum_lost - from->sum_lost), to, n);
	if (c->n_unknown_steps != from->n_unknown_steps)
		return;
	uint32_t order = s->groups.at[last.j].order + c->expected - from->expected;
	size_t at =
		w->next + bisect(s->groups.n - w->next, k, s->groups.at[w->next + k].order < order);
	if (at < s->groups.n && s->groups.at[at].order == order && pair_agree(s, a->i, at))
		add_path(a, to, n, w, at);
}

/*
 * Returns how many groups to search. Each time the call has waited twice as long, the search goes
 * further; in between it returns 0.
 */
static size_t farthest(const struct align *a, const struct path *w)
{
	size_t waited = w->pair == NO_PAIR ? a->i + 1 : a->i - a->pairs.at[w->pair].i;
	if (waited & (waited - 1))
		return 0;
	return waited * NEAR < FAR ? waited * NEAR : FAR;
}

static void try_next(struct align *a, const struct path *w, struct path *to, size_t *n)
{
	const struct sides *s = a->s;
	size_t far = farthest(a, w), most = *n + CHOICES;
	for (size_t k = 0; k < (far > NEAR ? far : NEAR) && w->next + k < s->groups.n; k++) {
		if (k < NEAR && *n < most && pair_agree(s, a->i, w->next + k))
			add_path(a, to, n, w, w->next + k);
		else if (k >= NEAR && agree_in_a_row(s, a->i, w->next + k))
			return add_path(a, to, n, w, w->next + k);
	}
}

/*
 * Parks the path at a later call, if the next group's id is higher than expected for this call and
 * exactly as expected for that later call. If calls were lost before the later call, the next group
 * may be the work of one of these. Then the later call's own group is the one with the expected id.
 */
static void park_later(struct align *a, const struct path *w)
{
	const struct sides *s = a->s;
	if (w->pair == NO_PAIR || w->next >= s->groups.n || a->n_parked == MAX_PARKED)
		return;
	const struct pair *last = &a->pairs.at[w->pair];
	const struct caller *from = &s->calls.at[last->i];
	uint32_t order = s->groups.at[last->j].order, step = s->groups.at[w->next].order - order;
	size_t at =
		last->i + bisect(s->calls.n - last->i, k, from[k].expected - from->expected < step);
	if (at <= a->i || at >= s->calls.n ||
	    s->calls.at[at].n_unknown_steps != from->n_unknown_steps)
		return;
	order += s->calls.at[at].expected - from->expected;
	size_t j =
		w->next + bisect(s->groups.n - w->next, k, s->groups.at[w->next + k].order < order);
	if (j - w->next <= s->calls.at[at].lost && j < s->groups.n &&
	    s->groups.at[j].order == order && pair_agree(s, at, j))
		a->parked[a->n_parked++] = extended(a, w, at, j, 0);
}

/* Writes all continuations of the path to `to`. Returns their number. */
static size_t branch(struct align *a, struct path *w, struct path *to)
{
	size_t n = 0;
	skip_earlier(a, w);
	if (continues_exactly(a, w)) {
		add_path(a, to, &n, w, w->next);
		return n;
	}
	bool agrees = w->next < a->s->groups.n && follows_last_pair(a, w) &&
		      !a->s->calls.at[a->i].lost && !has_unknown_gap_before(a, w, a->i) &&
		      pair_agree(a->s, a->i, w->next);
	size_t n_parked = a->n_parked;
	park_later(a, w);
	try_expected(a, w, to, &n);
	if (agrees && (agree_in_a_row(a->s, a->i, w->next) || a->n_parked > n_parked)) {
		add_path(a, to, &n, w, w->next);
		return n;
	}
	try_next(a, w, to, &n);
	if (!n && w->next < a->s->groups.n && pair_may_lack_size(a->s, a->i, w->next))
		to[n++] = extended(a, w, a->i, w->next, COST_NO_SIZE);
	to[n++] = *w; /* the call has no work */
	return n;
}

/* ---- All paths ---- */

/*
 * Returns the cost of `left` calls after the last group. Their work has not ended yet, or has not
 * been read, so any number of them is normal, but few are more likely than many: each time their
 * number doubles, the path costs more. A few calls more matter only if there are few.
 */
static uint32_t cost_of_calls_left(size_t left)
{
	uint32_t doublings = 0;
	for (; left; left /= 2)
		doublings++;
	return COST_STEP * doublings;
}

/*
 * Returns the cost of a complete path. Groups after the last call belong to calls that have not
 * been read yet. These are few, because calls are read before their work. If recording has stopped,
 * the groups belong to any number of unrecorded calls and cost nothing.
 */
static uint32_t cost_in_all(const struct align *a, const struct path *w)
{
	size_t left = a->s->in->is_closed ? 0 : a->s->groups.n - w->next;
	size_t first = w->pair == NO_PAIR ? 0 : a->pairs.at[w->pair].i + 1;
	return w->cost + (left ? COST_FOREIGN + COST_STEP * (uint32_t)left : 0) +
	       cost_of_calls_left(a->s->calls.n - first);
}

/*
 * Returns the path's cost, assuming that it continues at the next call, and that one call after the
 * other has the groups left. If no group is left, the path has ended.
 */
static uint32_t cost_so_far(const struct align *a, const struct path *w)
{
	if (w->next == a->s->groups.n && w->pair != NO_PAIR)
		return cost_in_all(a, w);
	const struct pair *last = w->pair == NO_PAIR ? NULL : &a->pairs.at[w->pair];
	size_t calls = last ? a->i - last->i : a->i + 1;
	size_t works = w->next - (last ? last->j + 1 : a->first);
	size_t used = a->i + 1 + (a->s->groups.n - w->next);
	if (has_unknown_gap_before(a, w, a->i) || (!last && a->s->begins_late))
		works = 0;
	return w->cost + gap_length_cost(calls, works) +
	       cost_of_calls_left(used < a->s->calls.n ? a->s->calls.n - used : 0);
}

static void sort_by_cost(struct path *paths, uint32_t *costs, size_t n)
{
	for (size_t k = 1; k < n; k++) {
		const struct path path = paths[k];
		const uint32_t cost = costs[k];
		size_t at = k;
		for (; at && costs[at - 1] > cost; at--) {
			paths[at] = paths[at - 1];
			costs[at] = costs[at - 1];
		}
		paths[at] = path;
		costs[at] = cost;
	}
}

/* Returns the cheaper path that continues with the same group, NULL if there is none. */
static const struct path *find_cheaper(const struct align *a, const struct path *w)
{
	for (size_t k = 0; k < a->n_paths; k++)
		if (a->paths[k].next == w->next)
			return &a->paths[k];
	return NULL;
}

static void note_rival(struct align *a, const struct path *path, const struct path *rival,
		       uint32_t extra_cost)
{
	if (extra_cost <= SURE && path->pair != NO_PAIR && rival->pair != NO_PAIR)
		vec_push(&a->rivals, (struct rival){ path->pair, rival->pair, (uint32_t)a->i });
}

/* Keeps the cheapest path for each next group. Drops paths that are too expensive. */
static void choose(struct align *a, struct path *from, size_t n)
{
	uint32_t costs[MAX_PATHS * BRANCHES + MAX_PARKED];
	for (size_t k = 0; k < n; k++)
		costs[k] = cost_so_far(a, &from[k]);
	sort_by_cost(from, costs, n);
	a->n_paths = 0;
	for (size_t k = 0; k < n && a->n_paths < MAX_PATHS && costs[k] <= costs[0] + MAX_EXTRA_COST;
	     k++) {
		const struct path *cheaper = find_cheaper(a, &from[k]);
		if (cheaper)
			note_rival(a, cheaper, &from[k], costs[k] - cost_so_far(a, cheaper));
		else
			a->paths[a->n_paths++] = from[k];
	}
}

static void unpark(struct align *a, struct path *to, size_t *n)
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

/* The pairs from `first` on, which one call has added. */
struct new_pairs {
	uint32_t first;
	uint32_t
		place[MAX_PATHS * (BRANCHES + 1)]; /* by pair: NO_PAIR while nothing refers to it */
};

static void mark(struct new_pairs *p, uint32_t pair)
{
	if (pair != NO_PAIR && pair >= p->first)
		p->place[pair - p->first] = 0;
}

static void move(const struct new_pairs *p, uint32_t *pair)
{
	if (*pair != NO_PAIR && *pair >= p->first)
		*pair = p->place[*pair - p->first];
}

/* Removes new pairs of dropped paths: where much is missing, each call adds dozens. */
static void drop_unused(struct align *a, struct new_pairs *p, size_t first_rival)
{
	uint32_t n = p->first;
	memset(p->place, 0xff, sizeof(p->place));
	for (size_t k = 0; k < a->n_paths; k++)
		mark(p, a->paths[k].pair);
	for (size_t k = 0; k < a->n_parked; k++)
		mark(p, a->parked[k].pair);
	for (size_t k = first_rival; k < a->rivals.n; k++) {
		mark(p, a->rivals.at[k].of);
		mark(p, a->rivals.at[k].pair);
	}
	for (uint32_t k = p->first; k < a->pairs.n; k++) {
		uint32_t *place = &p->place[k - p->first];
		if (*place == NO_PAIR)
			continue;
		a->pairs.at[n] = a->pairs.at[k];
		*place = n++;
	}
	a->pairs.n = n;
	for (size_t k = 0; k < a->n_paths; k++)
		move(p, &a->paths[k].pair);
	for (size_t k = 0; k < a->n_parked; k++)
		move(p, &a->parked[k].pair);
	for (size_t k = first_rival; k < a->rivals.n; k++) {
		move(p, &a->rivals.at[k].of);
		move(p, &a->rivals.at[k].pair);
	}
}

static void align_call(struct align *a)
{
	struct path all[MAX_PATHS * BRANCHES + MAX_PARKED];
	struct new_pairs added = { .first = (uint32_t)a->pairs.n };
	size_t n = 0, first_rival = a->rivals.n;
	for (size_t k = 0; k < a->n_paths; k++)
		n += branch(a, &a->paths[k], all + n);
	unpark(a, all, &n);
	choose(a, all, n);
	if (a->pairs.n > added.first)
		drop_unused(a, &added, first_rival);
}

static const struct path *best_path(const struct align *a)
{
	const struct path *best = &a->paths[0];
	for (size_t k = 1; k < a->n_paths; k++)
		if (cost_in_all(a, &a->paths[k]) < cost_in_all(a, best))
			best = &a->paths[k];
	return best;
}

/* ---- Unsure pairs ---- */

/*
 * Goes back along a path and its rival until they meet. Marks the path's pairs that the rival does
 * not have as unsure.
 */
static void doubt(const struct align *a, const struct rival *r, bool *are_unsure, size_t *left)
{
	const struct pair *pairs = a->pairs.at;
	uint32_t path = r->of, rival = r->pair;
	for (; pairs && *left && path != rival && path != NO_PAIR; --*left) {
		bool rival_is_later = rival != NO_PAIR && pairs[rival].j >= pairs[path].j;
		bool is_same = rival_is_later && pairs[rival].j == pairs[path].j &&
			       pairs[rival].i == pairs[path].i;
		are_unsure[path] |= !rival_is_later;
		if (rival_is_later)
			rival = pairs[rival].before;
		if (!rival_is_later || is_same)
			path = pairs[path].before;
	}
}

static void take_path(struct align *a, const struct path *best)
{
	bool *are_unsure = mem_zero(a->pairs.n);
	/* By pair of the best path: the call of the path's next pair. */
	uint32_t *until = mem_zero(a->pairs.n * sizeof(*until));
	size_t left = RIVAL_STEPS;
	for (uint32_t k = best->pair, i = UINT32_MAX; k != NO_PAIR; k = a->pairs.at[k].before) {
		until[k] = i;
		i = a->pairs.at[k].i;
	}
	for (size_t k = 0; k < a->n_paths; k++)
		if (&a->paths[k] != best)
			note_rival(a, best, &a->paths[k],
				   cost_in_all(a, &a->paths[k]) - cost_in_all(a, best));
	for (size_t k = 0; k < a->rivals.n; k++)
		if (a->rivals.at[k].i < until[a->rivals.at[k].of])
			doubt(a, &a->rivals.at[k], are_unsure, &left);
	for (uint32_t k = best->pair; k != NO_PAIR; k = a->pairs.at[k].before)
		a->s->groups.at[a->pairs.at[k].j].at = a->pairs.at[k].i;
	a->has_waits = gaps_have_waits(a->s);
	pair_drop_unsure(a->s);
	for (uint32_t k = best->pair; k != NO_PAIR; k = a->pairs.at[k].before)
		if (are_unsure[k])
			a->s->groups.at[a->pairs.at[k].j].at = PAIR_NO_CALL;
	free(are_unsure);
	free(until);
}

/* Returns whether most work began late. */
static bool align(struct sides *s)
{
	struct align a = { .s = s, .n_paths = 1 };
	gaps_learn(s);
	/*
	 * Groups with ids up to the last one that was paired are left over. Their calls were passed
	 * on, or were not recorded.
	 */
	a.paths[0] = (struct path){ NO_PAIR, (uint32_t)s->first_left, 0 };
	if (s->calls.n)
		skip_earlier(&a, &a.paths[0]);
	a.first = a.paths[0].next;
	vec_reserve(&a.pairs, s->calls.n);
	for (a.i = 0; a.i < s->calls.n; a.i++) {
		if (a.n_paths == 1 && !a.n_parked && continues_exactly(&a, &a.paths[0]))
			a.paths[0] = extended(&a, &a.paths[0], a.i, a.paths[0].next, 0);
		else
			align_call(&a);
	}
	take_path(&a, best_path(&a));
	vec_free(&a.pairs);
	vec_free(&a.rivals);
	return a.has_waits;
}

void pair_align(struct sides *s)
{
	if (!align(s))
		return;
	s->waits_are_usual = true;
	sides_forget_pairs(s);
	align(s);
}
