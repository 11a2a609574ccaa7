/*
 * Walks through both sequences at once. A number is taken while its call is active. So a call's
 * work may follow that of other threads' calls that began meanwhile, but never precedes that of a
 * call that had ended. Where nothing agrees, searches for the nearest place from which calls and
 * work agree again.
 */
#include "core/source/journal/pair_walk.h"

#include "core/source/journal/pair_agree.h"

enum {
	LOOK_AHEAD = 96, /* calls and pieces of work that may be skipped at one place, together */
	RUN = 3,	 /* pairs that must agree after that */
	/* Calls active at once with another one; more of them are ignored. */
	RACING = 64,
	STRAYS = 4, /* pieces of work among theirs whose calls are unknown */
	/* By how many places the work of racing calls may be late where they agree again. */
	SWAPPED = 4,
};

/*
 * An active call that was given work after other calls' work. Once it has ended, no later call can
 * have launched that earlier work.
 */
struct overtaker {
	uint64_t end_ticks;
	size_t group;
};

struct walk {
	struct sides *s;
	struct overtaker overtakers[RACING];
	size_t n_overtakers;
	/* Places with at most this many calls and groups before them are known not to agree. */
	size_t barren;
};

/* ---- Calls that are active at once ---- */

static bool is_taken(const struct walk *w, size_t j)
{
	return w->s->groups.at[j].at != PAIR_NO_CALL;
}

/*
 * Returns how many calls of other threads began while this one was active: they may have a lower
 * number.
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

/* Returns the first group that may belong to call i or a later one, as far as that is known. */
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

/* Whether calls and work agree from here on, as far as there are any. */
static bool agree_on(const struct walk *w, size_t i, size_t j)
{
	unsigned used = 1; /* of the groups from j on; bit 0 is j */
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
 * Finds the nearest place to continue from; returns false if there is none nearby. After a failure,
 * only places further away are examined: otherwise a million calls that agree nowhere took 40 s
 * instead of 2 s.
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

/* Skips the work of calls whose records were dropped; CUPTI has it all the same. */
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
