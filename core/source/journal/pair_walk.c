/*
 * See pair_walk.h. Walks through both sequences at once. A call takes its correlation id at some
 * moment while it is active. So a call's work may follow the work of calls of other threads that
 * began meanwhile. But a call's work never precedes the work of a call that had already ended.
 * Where call and work do not agree, the walk continues at the nearest place from which calls and
 * work agree again.
 */
#include "core/source/journal/pair_walk.h"

#include "core/source/journal/pair_agree.h"

enum {
	LOOK_AHEAD = 96, /* calls plus groups that may be skipped at one place */
	RUN = 3,	 /* pairs that must agree where the walk continues */
	/* At most this many calls that overlap a call are considered. */
	RACING = 64,
	STRAYS = 4, /* groups of unknown calls accepted among the work of overlapping calls */
	/*
	 * By how many places the work of overlapping calls may come late, where the walk continues.
	 */
	SWAPPED = 4,
};

/*
 * An active call that was given work which lies after other calls' work. Once this call has ended,
 * no later call can have launched that earlier work.
 */
struct overtaker {
	uint64_t end_ticks;
	size_t group;
};

struct walk {
	struct sides *s;
	struct overtaker overtakers[RACING];
	size_t n_overtakers;
	/*
	 * Places with a smaller sum of call index and group index than this were examined, and do
	 * not agree.
	 */
	size_t barren;
};

/* ---- Calls that overlap in time ---- */

static bool is_taken(const struct walk *w, size_t j)
{
	return w->s->groups.at[j].at != PAIR_NO_CALL;
}

/*
 * Returns how many calls of other threads began while this call was active. These calls may have
 * taken a lower id.
 */
static size_t count_racing(const struct walk *w, size_t i)
{
	const struct caller *c = &w->s->calls.at[i];
	size_t n = 0;
	for (size_t k = i + 1; k < w->s->calls.n && n < RACING; k++) {
		if (w->s->calls.at[k].call->begin_ticks > c->end_ticks)
			break;
		n += w->s->calls.at[k].thread != c->thread;
	}
	return n;
}

static bool take_from_race(struct walk *w, size_t i, size_t j)
{
	size_t left = count_racing(w, i);
	if (!left || w->n_overtakers == RACING)
		return false;
	left += STRAYS;
	for (size_t k = j; k < w->s->groups.n && left; k++) {
		if (pair_agree(w->s, i, k)) {
			w->s->groups.at[k].at = (uint32_t)i;
			w->overtakers[w->n_overtakers++] =
				(struct overtaker){ w->s->calls.at[i].end_ticks, k };
			return true;
		}
		left -= !is_taken(w, k);
	}
	return false;
}

/*
 * Returns the first group, from `j` on, that call `i` or a later call may have launched, as far as
 * that is known.
 */
static size_t skip_overtaken(struct walk *w, size_t i, size_t j)
{
	uint64_t now = w->s->calls.at[i].call->begin_ticks;
	size_t n = 0;
	for (size_t k = 0; k < w->n_overtakers; k++) {
		if (w->overtakers[k].end_ticks >= now)
			w->overtakers[n++] = w->overtakers[k];
		else if (w->overtakers[k].group >= j)
			j = w->overtakers[k].group + 1;
	}
	w->n_overtakers = n;
	return j;
}

/* ---- The walk ---- */

/*
 * Returns whether the next RUN calls from `i` on agree with the groups from `j` on, or as many as
 * there are.
 */
static bool agree_on(const struct walk *w, size_t i, size_t j)
{
	unsigned used = 1; /* bit k is set if group j + k is taken */
	size_t n = 1;
	if (!pair_agree(w->s, i, j))
		return false;
	for (; n < RUN && ++i < w->s->calls.n; n++) {
		size_t k = 0, most = w->s->calls.at[i].is_alone ? 1 : SWAPPED;
		for (; j < w->s->groups.n && (used & 1 || is_taken(w, j)); j++)
			used >>= 1;
		while (k < most && j + k < w->s->groups.n &&
		       (used >> k & 1 || !pair_agree(w->s, i, j + k)))
			k++;
		if (j == w->s->groups.n)
			return true;
		if (k == most || j + k == w->s->groups.n)
			return false;
		used |= 1u << k;
	}
	return true;
}

/*
 * Finds the nearest place from which calls and work agree. Returns false if there is none within
 * LOOK_AHEAD. After a failure, examines only places further away. Otherwise a million calls that
 * agree nowhere would take 40 s instead of 2 s.
 */
static bool find_again(struct walk *w, size_t *i, size_t *j)
{
	size_t here = *i + *j, d = w->barren > here ? w->barren - here + 1 : 1;
	for (; d <= LOOK_AHEAD; d++)
		for (size_t k = 0; k <= d; k++)
			if (*i + k < w->s->calls.n && *j + d - k < w->s->groups.n &&
			    agree_on(w, *i + k, *j + d - k)) {
				*i += k;
				*j += d - k;
				return true;
			}
	w->barren = here + LOOK_AHEAD;
	return false;
}

/*
 * Skips the work of calls whose records were dropped, because CUPTI recorded that work
 * nevertheless.
 */
static size_t skip_lost(const struct walk *w, size_t i, size_t j)
{
	uint32_t lost = w->s->calls.at[i].lost;
	return lost && lost < w->s->groups.n - j && agree_on(w, i, j + lost) ? j + lost : j;
}

void pair_walk(struct sides *s)
{
	struct walk walk = { .s = s }, *w = &walk;
	size_t i = 0, j = 0;
	while (i < w->s->calls.n) {
		j = skip_overtaken(w, i, j);
		while (j < w->s->groups.n && (is_taken(w, j) || pair_is_before(w->s, i, j)))
			j++;
		if (j == w->s->groups.n)
			break;
		j = skip_lost(w, i, j);
		if (pair_agree(w->s, i, j) || pair_may_lack_size(w->s, i, j))
			w->s->groups.at[j++].at = (uint32_t)i++;
		else if (take_from_race(w, i, j) || !find_again(w, &i, &j))
			i++;
	}
}
