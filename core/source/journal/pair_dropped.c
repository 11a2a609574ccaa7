/*
 * See pair_dropped.h. How many entries are missing from each sequence is known: each thread numbers
 * its calls (`lost`), and the library counts the work that it drops (struct pair_dropped). So each
 * call and each group has a place, counted from the first call, as if nothing were missing, and a
 * call and its work have the same place. The sequences are cut into runs without gaps, and a run of
 * calls is paired with a run of groups only where their places are the same.
 *
 * Places may differ by a number that stays the same for long: a call may have made no work, or work
 * may have no hooked call. The last pairs of a run show this number, which then holds for the next
 * runs.
 *
 * If several threads call, it is unknown where the calls that one of them lost come between those
 * of the others. These calls of the others stay unpaired: those between the thread's last call
 * before the gap and its first one after it. Calls that overlap may have ids in another order than
 * their begins, so a part that is paired begins and ends where no call is active. While the journal
 * is full, a thread may be losing calls after its last one here.
 */
#include "core/source/journal/pair_dropped.h"

#include <stdlib.h>

enum {
	VOTERS = 32, /* the last pairs of a run that show by how much the places differ */
};

/* Entries `begin` to `end` of a sequence, whose places are `place` and so on. */
struct stretch {
	size_t begin, end;
	int64_t place;
};

typedef VEC(struct stretch) stretches;

/* Groups from order `first` to `last`, of which `n` were dropped. */
struct zone {
	uint32_t first, last;
	uint64_t n;
};

typedef VEC(struct zone) zones;

struct around {
	struct sides *s;
	void (*pair)(struct sides *);
	pair_withouts *without;
	stretches calls, groups;
	stretches parts; /* groups that were paired with as many calls */
	/* by call, and for the end: no call before it overlaps it or a call after it */
	bool *is_apart;
	int64_t groups_end; /* the place after the last group */
	/* by how much places of calls are higher than those of their work */
	int64_t shift;
};

static void extend(stretches *list, size_t at, int64_t place, bool joins)
{
	if (joins && list->n && list->at[list->n - 1].end == at)
		list->at[list->n - 1].end++;
	else
		vec_push(list, (struct stretch){ at, at + 1, place });
}

/* ---- Groups ---- */

static int by_first(const void *a, const void *b)
{
	const struct zone *x = a, *y = b;
	return x->first < y->first ? -1 : x->first > y->first;
}

/*
 * Lists what was dropped after the work that was paired before, and before the last group: there
 * may be further groups before what was dropped later. Zones that overlap become one.
 */
static void list_zones(const struct sides *s, zones *list)
{
	const struct pair_input *in = s->in;
	uint32_t base = s->groups.at[0].first->correlation - s->groups.at[0].order;
	size_t n = 0;
	for (size_t k = 0; k < in->n_dropped; k++) {
		const struct pair_dropped *d = &in->dropped[k];
		if ((in->has_gone && (int32_t)(d->last_id - in->gone_id) <= 0) ||
		    d->last_id - base > s->groups.at[s->groups.n - 1].order)
			continue;
		vec_push(list, (struct zone){ d->first_id - base, d->last_id - base, d->n });
	}
	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), by_first);
	for (size_t k = 0; k < list->n; k++) {
		struct zone *last = n ? &list->at[n - 1] : NULL;
		if (!last || list->at[k].first > last->last) {
			list->at[n++] = list->at[k];
			continue;
		}
		last->n += list->at[k].n;
		if (list->at[k].last > last->last)
			last->last = list->at[k].last;
	}
	list->n = n;
}

/*
 * Groups within a zone have no exact place, because threads deliver in turn. Of the group at an
 * edge a part may be dropped.
 */
static void list_groups(struct around *a)
{
	struct sides *s = a->s;
	int64_t place = (int64_t)s->in->n_gone;
	zones dropped = { 0 };
	size_t z = 0;
	bool joins = false;
	list_zones(s, &dropped);
	for (size_t j = s->first_left; j < s->groups.n; j++) {
		uint32_t order = s->groups.at[j].order;
		for (; z < dropped.n && dropped.at[z].last < order; z++) {
			place += (int64_t)dropped.at[z].n;
			joins = false;
		}
		if (z < dropped.n && order >= dropped.at[z].first) {
			bool is_edge = order == dropped.at[z].first || order == dropped.at[z].last;
			dropped.at[z].n += !(is_edge && dropped.at[z].n);
			joins = false;
			continue;
		}
		extend(&a->groups, j, place++, joins);
		joins = true;
	}
	for (; z < dropped.n; z++) /* the last group is within the last zone */
		place += (int64_t)dropped.at[z].n;
	a->groups_end = place;
	vec_free(&dropped);
}

/* ---- Calls ---- */

/* Returns how many calls of the thread were dropped between its previous call and this one. */
static uint32_t lost_before(const struct sides *s, const struct caller *c, bool is_first)
{
	if (!is_first)
		return c->lost;
	return s->in->has_gone ? c->skipped : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* `gap_ticks`: by call, the earliest begin of calls that were lost before it; UINT64_MAX: none. */
static void find_apart(struct around *a, const uint64_t *gap_ticks)
{
	const struct sides *s = a->s;
	uint64_t last_end = 0;
	a->is_apart = mem_resize(NULL, (s->calls.n + 1) * sizeof(*a->is_apart));
	for (size_t i = 0; i < s->calls.n; i++) {
		const struct caller *c = &s->calls.at[i];
		a->is_apart[i] = last_end <= least(c->call->begin_ticks, gap_ticks[i]);
		last_end = c->end_ticks > last_end ? c->end_ticks : last_end;
	}
	a->is_apart[s->calls.n] = true;
}

static void list_calls(struct around *a)
{
	struct sides *s = a->s;
	size_t n_threads = s->in->n_threads;
	size_t *next_of = mem_resize(NULL, n_threads * sizeof(*next_of));
	uint32_t *lost = mem_zero(s->calls.n * sizeof(*lost));
	/* by call: whether it lies in a gap of another thread; counted as begins minus ends */
	int32_t *gaps = mem_zero((s->calls.n + 1) * sizeof(*gaps));
	uint64_t *gap_ticks = mem_resize(NULL, s->calls.n * sizeof(*gap_ticks));
	for (size_t t = 0; t < n_threads; t++)
		next_of[t] = 0;
	for (size_t i = 0; i < s->calls.n; i++)
		gap_ticks[i] = UINT64_MAX;
	for (size_t i = 0; i < s->calls.n; i++) {
		const struct caller *c = &s->calls.at[i];
		size_t *next = &next_of[c->thread];
		lost[i] = lost_before(s, c, !*next);
		if (lost[i]) {
			gaps[*next]++;
			gaps[i]--;
			gap_ticks[*next] = *next ? s->calls.at[*next - 1].end_ticks : 0;
		}
		*next = i + 1;
	}
	for (size_t t = 0; t < n_threads && s->in->is_full; t++) {
		if (!next_of[t])
			continue;
		gaps[next_of[t]]++;
		if (next_of[t] < s->calls.n)
			gap_ticks[next_of[t]] = s->calls.at[next_of[t] - 1].end_ticks;
	}
	int64_t place = (int64_t)s->in->n_gone_calls;
	int32_t n_gaps = 0;
	bool joins = false;
	for (size_t i = 0; i < s->calls.n; i++) {
		n_gaps += gaps[i];
		place += lost[i];
		if (!n_gaps)
			extend(&a->calls, i, place, joins && !lost[i]);
		joins = !n_gaps;
		place++;
	}
	find_apart(a, gap_ticks);
	free(next_of);
	free(lost);
	free(gaps);
	free(gap_ticks);
}

/* ---- Both ---- */

/*
 * Learns the shift from the last pairs of a part, by majority vote. Where calls overlap, two pairs
 * may have exchanged their places, so few votes prove nothing.
 */
static void learn_shift(struct around *a, const struct sides *part)
{
	int64_t shifts[VOTERS], shift = 0;
	size_t votes = 0, n = 0, n_alike = 0;
	for (size_t j = part->groups.n; j-- > 0 && n < VOTERS;) {
		if (part->groups.at[j].at == PAIR_NO_CALL)
			continue;
		int64_t own = shifts[n++] = (int64_t)part->groups.at[j].at - (int64_t)j;
		if (!votes)
			shift = own;
		votes += shift == own ? 1 : -1;
	}
	for (size_t k = 0; k < n; k++)
		n_alike += shifts[k] == shift;
	if (!sides_race(part) || (n == VOTERS && n_alike * 2 > VOTERS))
		a->shift += n ? shift : 0;
}

static void pair_apart(struct around *a, size_t i, size_t j, size_t n)
{
	struct sides *s = a->s, part = { .in = s->in,
					 .knows_devices = s->knows_devices,
					 .clocks_differ_ticks = s->clocks_differ_ticks };
	for (size_t k = 0; k < n; k++) {
		struct caller c = s->calls.at[i + k];
		c.lost = 0; /* within a run nothing is lost */
		vec_push(&part.calls, c);
		vec_push(&part.groups, s->groups.at[j + k]);
	}
	part.lanes.at = s->lanes.at; /* owned by the whole */
	part.lanes.n = s->lanes.n;
	sides_note_alone(&part);
	a->pair(&part);
	for (size_t k = 0; k < n; k++)
		if (part.groups.at[k].at != PAIR_NO_CALL)
			s->groups.at[j + k].at = (uint32_t)i + part.groups.at[k].at;
	learn_shift(a, &part);
	vec_push(&a->parts, (struct stretch){ j, j + n, 0 });
	part.lanes.at = NULL;
	sides_free(&part);
}

static void note_without(struct around *a, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		vec_push(a->without, (struct pair_without){ a->s->calls.at[i].thread,
							    a->s->calls.at[i].call->begin_ticks });
}

/*
 * Pairs `n` calls from `i` on with as many groups from `j` on. `is_newest`: these are the last
 * groups that have been read, so the work of further calls may follow.
 */
static void pair_part(struct around *a, size_t i, size_t j, size_t n, bool is_newest)
{
	size_t end = i + n, first = i, last;
	while (first < end && !a->is_apart[first])
		first++;
	for (last = end; last > first && !a->is_apart[last];)
		last--;
	note_without(a, i, first);
	if (!is_newest)
		note_without(a, last, end);
	if (first < last)
		pair_apart(a, first, j + (first - i), last - first);
}

/* Pairs a run of calls with the runs of groups at the same places, from run `*w` on. */
static void pair_stretch(struct around *a, struct stretch c, size_t *w)
{
	while (c.begin < c.end) {
		while (*w < a->groups.n) {
			const struct stretch *g = &a->groups.at[*w];
			if (g->place + (int64_t)(g->end - g->begin) + a->shift > c.place)
				break;
			++*w;
		}
		int64_t at = *w < a->groups.n ? a->groups.at[*w].place : a->groups_end;
		int64_t before = at + a->shift - c.place, left = (int64_t)(c.end - c.begin);
		if (before > 0) {
			size_t n = (size_t)(before < left ? before : left);
			note_without(a, c.begin, c.begin + n);
			c.begin += n;
			c.place += (int64_t)n;
			continue;
		}
		if (*w == a->groups.n)
			return; /* work that has not been read yet */
		const struct stretch *g = &a->groups.at[*w];
		size_t j = g->begin + (size_t)-before, n = g->end - j;
		n = n < c.end - c.begin ? n : c.end - c.begin;
		pair_part(a, c.begin, j, n,
			  j + n == a->s->groups.n &&
				  g->place + (int64_t)(g->end - g->begin) == a->groups_end);
		c.begin += n;
		c.place += (int64_t)n;
	}
}

static bool is_other_stream(const struct sides *s, const struct group *g)
{
	if (g->at == PAIR_NO_CALL || g->first->graph)
		return false;
	const struct lane *l = &s->lanes.at[s->calls.at[g->at].lane];
	return l->n && l->id != stream_of_work(g->first);
}

/*
 * A short part of calls that overlap may not show which thread uses which stream. All parts
 * together do. Where they contradict a part, its calls that overlap stay unpaired.
 */
static void check_streams(struct around *a)
{
	struct sides *s = a->s;
	if (!sides_race(s) || !sides_learn_streams(s))
		return;
	for (size_t k = 0; k < a->parts.n; k++) {
		const struct stretch *part = &a->parts.at[k];
		size_t n_wrong = 0;
		for (size_t j = part->begin; j < part->end; j++)
			n_wrong += is_other_stream(s, &s->groups.at[j]);
		for (size_t j = part->begin; n_wrong && j < part->end; j++) {
			struct group *g = &s->groups.at[j];
			if (g->at != PAIR_NO_CALL && !s->calls.at[g->at].is_alone)
				g->at = PAIR_NO_CALL;
		}
	}
}

/* Returns whether nothing is missing from the calls and groups held. */
static bool is_gapless(const struct around *a)
{
	const struct sides *s = a->s;
	return a->calls.n == 1 && a->groups.n == 1 &&
	       a->calls.at[0].end - a->calls.at[0].begin == s->calls.n &&
	       a->groups.at[0].end - a->groups.at[0].begin == s->groups.n - s->first_left &&
	       a->groups_end == a->groups.at[0].place + (int64_t)(s->groups.n - s->first_left) &&
	       a->calls.at[0].place == a->groups.at[0].place;
}

void pair_around_dropped(struct sides *s, void (*pair)(struct sides *), pair_withouts *without)
{
	struct around a = { .s = s, .pair = pair, .without = without };
	size_t w = 0, known = 0;
	if (!s->groups.n)
		return;
	list_groups(&a);
	list_calls(&a);
	if (is_gapless(&a)) {
		pair(s);
		a.calls.n = 0;
	}
	for (size_t k = 0; k < a.calls.n; k++) {
		const struct stretch *c = &a.calls.at[k];
		/* calls in gaps of other threads, if the work after them has been read */
		if (c->place < a.groups_end + a.shift)
			note_without(&a, known, c->begin);
		known = c->end;
		pair_stretch(&a, *c, &w);
	}
	check_streams(&a);
	vec_free(&a.parts);
	vec_free(&a.calls);
	vec_free(&a.groups);
	free(a.is_apart);
}
