/*
 * Both sequences are walked at once. A number is given out while its call is under way: so a call's work may lie behind that of calls of
 * other threads which began meanwhile, and never before that of one that had ended. Where nothing agrees, the nearest place is looked
 * for from which on they agree again.
 */
#include "core/pair/pair_walk.h"

#include "core/pair/pair_agree.h"

enum {
	LOOK_AHEAD = 96, /* calls and pieces of work that may be skipped at one place, together */
	RUN = 3,	 /* that agree behind it */
	RACING =
		64, /* calls that are under way at once; of a longer one only so many are looked at */
	STRAYS = 4, /* pieces of work among theirs whose calls are not known */
	SWAPPED =
		4, /* by how many places work of calls that race may lie behind, where they agree again */
};

/* A call under way that was given work with others' before it: once it has ended, those others are of no later call. */
struct overtaker {
	uint64_t end_ticks;
	size_t group;
};

struct walk {
	struct sides *s;
	struct overtaker overtakers[RACING];
	size_t n_overtakers;
	size_t barren; /* no place with so many calls and groups before it, or fewer, is one to go on from */
};

/* ---- Calls that are under way at once ---- */

static bool is_taken(const struct walk *w, size_t j)
{
	return w->s->groups.at[j].at != PAIR_NO_CALL;
}

/* How many calls of other threads began while this one was under way: theirs may have got a lower number. */
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

/* The first group that can be of call i or a later one, as far as that is known. */
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

/* From here on they agree, as far as there is anything. */
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
 * The nearest place to go on from; false where there is none nearby. Where none was found before, only what lies further is looked
 * at: else a million calls that agree nowhere took 40 s, not 2.
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

/* The work of calls whose records were dropped is there all the same. */
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
