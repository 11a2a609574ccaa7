/*
 * See pair_walk.h. Walks through both sequences at once. A call takes its correlation id at some
 * moment while it is active. So a call's work may follow the work of calls of other threads that
 * began meanwhile. But a call's work never precedes the work of a call that had already ended.
 * Where call and work do not agree, the walk continues at the nearest place from which calls and
 * work agree again.
 */
#include "core/source/journal/pair_walk.h"

#include "core/source/journal/pair_agree.h"
#include "core/util/sample.h"

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
	/* How many groups ahead of a group are examined to find out which call needs it. */
	NEAR = 16,
	NEED_STEPS = 1 << 24, /* limit of these comparisons, in total */
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
	/* Long calls that left a group to a shorter call, and wait for their own. Oldest first. */
	size_t deferred[RACING];
	size_t n_deferred;
	size_t need_steps_left;
	uint64_t usual_ticks; /* how long most calls take */
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

/* ---- Long calls ----
 *
 * A thread may lose the CPU inside a call, before the call takes its correlation id. Then calls of
 * other threads begin and end meanwhile, and their ids are lower.
 */

/* Returns the median of the calls' lengths. */
static uint64_t usual_length(const struct sides *s)
{
	struct sample lengths = { 0 };
	for (size_t i = 0; i < s->calls.n; i++)
		sample_add(&lengths, (double)record_duration(s->calls.at[i].call));
	return (uint64_t)sample_percentile(&lengths, 0.5);
}

static bool agrees_for_need(struct walk *w, size_t i, size_t j)
{
	if (!w->need_steps_left)
		return false;
	w->need_steps_left--;
	return pair_agree(w->s, i, j);
}

/*
 * Returns the first call from `i` on that began and ended within call `d` and may have launched
 * group `j`; SIZE_MAX if there is none.
 */
static size_t find_shorter(struct walk *w, size_t d, size_t i, size_t j)
{
	const struct caller *long_call = &w->s->calls.at[d];
	for (size_t n = 0; i < w->s->calls.n && n < RACING; i++, n++) {
		const struct caller *c = &w->s->calls.at[i];
		if (c->call->begin_ticks > long_call->end_ticks)
			break;
		if (c->thread != long_call->thread && c->end_ticks < long_call->end_ticks &&
		    agrees_for_need(w, i, j))
			return i;
	}
	return SIZE_MAX;
}

/* Returns whether only calls that began after `ticks` may have launched group `j`. */
static bool is_launched_after(struct walk *w, size_t i, size_t j, uint64_t ticks)
{
	for (size_t k = 0; k < w->n_deferred; k++)
		if (agrees_for_need(w, w->deferred[k], j))
			return false;
	for (size_t n = 0; i < w->s->calls.n && n < RACING; i++, n++)
		if (agrees_for_need(w, i, j))
			return w->s->calls.at[i].call->begin_ticks > ticks;
	return false;
}

/* Returns whether group `j` began late for a call that ended at `ticks`: its stream was idle. */
static bool is_late(const struct walk *w, size_t j, uint64_t ticks)
{
	const struct group *g = &w->s->groups.at[j];
	uint64_t stream = stream_of_work(g->first);
	for (size_t k = j; k-- > 0 && j - k <= NEAR;)
		if (stream_of_work(w->s->groups.at[k].first) == stream) {
			ticks = ticks > w->s->groups.at[k].end_ticks ? ticks
								     : w->s->groups.at[k].end_ticks;
			break;
		}
	return g->begin_ticks > ticks + w->s->clocks_differ_ticks;
}

/*
 * Returns whether a shorter call must have launched group `j`, not the long call `d`. This is so if
 * the next group that the shorter call may have launched comes after the work of a call that began
 * later, or began long after the shorter call. `i`: the first call that was not walked over yet,
 * other than `d`.
 */
static bool is_of_shorter(struct walk *w, size_t d, size_t i, size_t j)
{
	size_t shorter = find_shorter(w, d, i, j);
	if (shorter == SIZE_MAX)
		return false;
	uint64_t end_ticks = w->s->calls.at[shorter].end_ticks;
	bool is_followed = false;
	for (size_t k = j + 1; k < w->s->groups.n && k <= j + NEAR; k++) {
		if (is_taken(w, k))
			continue;
		if (agrees_for_need(w, shorter, k))
			return is_followed ||
			       (is_late(w, k, end_ticks) && !is_late(w, j, end_ticks));
		is_followed |= is_launched_after(w, i, k, end_ticks);
	}
	return is_followed;
}

/* Leaves group `j` to a shorter call than `i`, if one must have launched it. */
static bool defer(struct walk *w, size_t i, size_t j)
{
	const struct caller *c = &w->s->calls.at[i];
	if (w->n_deferred == RACING || c->is_alone ||
	    !(c->takes_id_late || is_of_shorter(w, i, i + 1, j)))
		return false;
	if (!w->usual_ticks)
		w->usual_ticks = usual_length(w->s);
	w->deferred[w->n_deferred++] = i;
	return true;
}

static void drop_deferred(struct walk *w, size_t k)
{
	memmove(&w->deferred[k], &w->deferred[k + 1], (--w->n_deferred - k) * sizeof(*w->deferred));
}

/*
 * Returns whether group `j` is of the deferred call `d` and not of call `i` or a later one. A
 * deferred call took its id soon before it ended: when its thread got the CPU again. Other calls
 * take it soon after they began.
 */
static bool is_of_deferred(struct walk *w, size_t d, size_t i, size_t j)
{
	uint64_t end_ticks = w->s->calls.at[d].end_ticks;
	if (!pair_agree(w->s, d, j))
		return false;
	for (size_t n = 0; i < w->s->calls.n && n < RACING; i++, n++) {
		uint64_t begin_ticks = w->s->calls.at[i].call->begin_ticks;
		if (begin_ticks + 2 * w->usual_ticks >= end_ticks)
			return true;
		if (agrees_for_need(w, i, j))
			return false;
	}
	return true;
}

/* Gives group `j` to a deferred call, if it is the call's. `i`: the next call of the walk. */
static bool take_deferred(struct walk *w, size_t i, size_t j)
{
	const struct caller *calls = w->s->calls.at;
	size_t first = RACING;
	for (size_t k = 0; k < w->n_deferred; k++)
		if ((first == RACING ||
		     calls[w->deferred[k]].end_ticks < calls[w->deferred[first]].end_ticks) &&
		    is_of_deferred(w, w->deferred[k], i, j))
			first = k;
	if (first == RACING)
		return false;
	w->s->groups.at[j].at = (uint32_t)w->deferred[first];
	drop_deferred(w, first);
	return true;
}

/* Drops deferred calls that ended before call `i` began: their work is missing. */
static void drop_ended(struct walk *w, size_t i)
{
	for (size_t k = w->n_deferred; k-- > 0;)
		if (w->s->calls.at[w->deferred[k]].end_ticks < w->s->calls.at[i].call->begin_ticks)
			drop_deferred(w, k);
}

/*
 * Gives the call a group after other calls' groups, if it overlaps those calls. Returns false if
 * there is none.
 */
static bool take_from_race(struct walk *w, size_t i, size_t j)
{
	size_t left = count_racing(w, i);
	if (!left || w->n_overtakers == RACING)
		return false;
	left += STRAYS;
	for (size_t k = j; k < w->s->groups.n && left; k++) {
		if (pair_agree(w->s, i, k)) {
			if (defer(w, i, k))
				return true;
			w->s->groups.at[k].at = (uint32_t)i;
			w->overtakers[w->n_overtakers++] =
				(struct overtaker){ w->s->calls.at[i].end_ticks, k };
			return true;
		}
		left -= !is_taken(w, k);
	}
	return false;
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
	struct walk walk = { .s = s, .need_steps_left = NEED_STEPS }, *w = &walk;
	size_t i = 0, j = 0;
	while (i < w->s->calls.n) {
		j = skip_overtaken(w, i, j);
		for (; j < w->s->groups.n && (is_taken(w, j) || pair_is_before(w->s, i, j)); j++)
			if (!is_taken(w, j))
				take_deferred(w, i, j);
		if (j == w->s->groups.n)
			break;
		j = skip_lost(w, i, j);
		if (w->n_deferred && take_deferred(w, i, j)) {
			j++;
			continue;
		}
		drop_ended(w, i);
		bool agrees = pair_agree(w->s, i, j);
		if (agrees && defer(w, i, j)) {
			i++;
			continue;
		}
		if (agrees || pair_may_lack_size(w->s, i, j))
			w->s->groups.at[j++].at = (uint32_t)i++;
		else if (take_from_race(w, i, j) || !find_again(w, &i, &j))
			i++;
	}
	for (; w->n_deferred && j < w->s->groups.n; j++)
		if (!is_taken(w, j))
			take_deferred(w, i, j);
}
