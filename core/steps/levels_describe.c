/*
 * Describes an accepted level: its boundary, the number of steps that have ended, and its backup
 * (core/steps/levels_believe.h). Also compares two choices. Runs in the collector.
 */
#include "core/runtime/iteration.h"
#include "core/steps/levels_believe.h"

#include <stdlib.h>

/* The lengths of iterations of the same loop differ by at most 1/ALIKE_SHARE of the longer one. */
#define ALIKE_SHARE 8u
/*
 * If the later choice misses more than 1/MISSED_SHARE of the steps, it counts other steps than the
 * earlier choice. It may miss fewer: steps with a branch in which its anchor does not occur.
 */
#define MISSED_SHARE 20u
/*
 * The same limit for noisy loops, in which each choice misses some steps: if one launch in 33 is
 * exchanged, an anchor misses one step in nine. There, a choice that misses more steps than the
 * other one counts other steps.
 */
#define MISSED_SHARE_NOISY 3u

/* Two ends that are no further apart than 1/NEAR_SHARE of an iteration belong to the same step. */
#define NEAR_SHARE 4u

/* How often the anchor occurred, and what occurred before it. */
struct anchor_count {
	uint64_t n;
	int64_t n_missed;
	/* Median, over the level's trigrams, of their occurrences before the anchor's first one. */
	uint32_t n_before;
};

/*
 * Returns how many steps ended before the first anchor was complete. An anchor has three launches,
 * so this happens only to steps of one or two launches. The anchor's last launch ends a step, and
 * so does each of its earlier launches that equals the last one. For steps of one launch, two steps
 * ended before, or one if another launch precedes the first step. For steps of two launches, one
 * ended before.
 */
static int64_t count_short(const struct levels_store *s, const struct levels_level *level,
			   uint32_t trigram)
{
	uint32_t at = 0, n = 0, tokens[TRIGRAM];
	while (at < s->n && !levels_store_is(&s->events[at], trigram))
		at++;
	if (level->calls_per_iteration >= TRIGRAM || s->n_forgotten || at == s->n)
		return 0;
	for (uint32_t i = at + 1; i-- > 0 && n < TRIGRAM;)
		if (s->events[i].thread == s->events[at].thread)
			tokens[n++] = s->events[i].token;
	int64_t n_ends = 0;
	for (uint32_t k = 1; k < n; k++)
		n_ends += tokens[k] == tokens[0];
	return n_ends;
}

/* Returns the median of the counts of the level's trigrams. */
static uint32_t count_of_most(const uint64_t *counts, const struct levels_level *level)
{
	int64_t *of_members = calloc(level->n_members + 1, sizeof(*of_members)), most = 0;
	for (uint32_t m = 0; of_members && m < level->n_members; m++)
		of_members[m] = (int64_t)counts[level->members[m]];
	if (of_members)
		most = levels_median(of_members, level->n_members);
	free(of_members);
	return (uint32_t)most;
}

/*
 * Counts the anchor's occurrences, and the steps that ended without it at first. The first step may
 * end with other launches than the rest, because SGD creates its momentum buffers in it. If it
 * does, most of the level's trigrams have occurred once more than the anchor by its last
 * occurrence, and at least twice before its first one. If they have not, a later step ended without
 * the anchor.
 */
static struct anchor_count count_anchor(const struct levels_store *s,
					const struct levels_level *level, uint32_t trigram)
{
	struct anchor_count c = { 0 };
	uint32_t end = s->n, n_more = 0;
	uint64_t *counts = calloc(s->trigrams.used + 1, sizeof(*counts));
	uint64_t *counts_before = calloc(s->trigrams.used + 1, sizeof(*counts_before));
	while (end && !levels_store_is(&s->events[end - 1], trigram))
		end--;
	for (uint32_t i = 0; i < end; i++) {
		c.n += levels_store_is(&s->events[i], trigram);
		if (counts)
			counts[s->events[i].trigram]++;
		if (counts_before && !c.n)
			counts_before[s->events[i].trigram]++;
	}
	for (uint32_t m = 0; counts && counts_before && m < level->n_members; m++)
		n_more += counts[level->members[m]] == c.n + 1 &&
			  counts_before[level->members[m]] > 1;
	c.n_before = counts_before ? count_of_most(counts_before, level) : 0;
	c.n_missed = level->calls_per_iteration < TRIGRAM ? count_short(s, level, trigram)
							  : n_more * 2 > level->n_members;
	free(counts);
	free(counts_before);
	return c;
}

/* Returns how often the backup occurred before the anchor's first occurrence. */
static uint32_t count_first_backups(const struct levels_store *s, const struct level_choice *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n && c->backup; i++) {
		uint64_t hash = levels_store_hash(s, &s->events[i], c->anchor);
		if (hash == c->anchor)
			break;
		n += hash == c->backup;
	}
	return n;
}

/*
 * Adds to the count the steps that the backup ended because the anchor was missing. If the backup
 * occurred before the first anchor more often than most of the level's trigrams, some of its
 * occurrences were part of set-up. An example are three copies in a row with which DDP makes its
 * buckets, and then its model, the same on all ranks.
 */
static void count_by_backup(const struct levels_store *s, const struct anchor_count *count,
			    struct level_choice *out)
{
	uint32_t n = count_first_backups(s, out), most = count->n_before ? count->n_before : 1;
	out->n_early_backups = n > most ? n - most : 0;
	out->count += levels_count_missed(s, out);
	/* n_missed already includes the first step */
	out->count -= out->n_missed > 0 && n - out->n_early_backups > 1;
}

/* Returns the first event that completes the trigram, or s->n. */
static uint32_t first_of(const struct levels_store *s, uint32_t trigram)
{
	uint32_t i = 0;
	while (i < s->n && !levels_store_is(&s->events[i], trigram))
		i++;
	return i;
}

/*
 * Returns whether the anchor is among the first launches of a step, after the optimizer's end of
 * the previous step. Such an anchor also occurred before the first step ended, and before most of
 * the level's trigrams.
 */
static bool comes_before_first_end(const struct levels_store *s, const struct levels_level *level,
				   uint32_t trigram)
{
	uint32_t first = first_of(s, trigram), optimizer = 0, n_before = 0;
	while (optimizer < s->n && !(s->events[optimizer].hints & LEVEL_OPTIMIZER))
		optimizer++;
	if (!level->optimizer || s->n_forgotten || optimizer <= first || optimizer == s->n)
		return false;
	for (uint32_t m = 0; m < level->n_members; m++)
		n_before += first_of(s, level->members[m]) < first;
	return n_before * 2 < level->n_members;
}

int levels_describe(const struct levels_store *s, const struct levels_index *x,
		    const struct levels_level *level, const struct level_signs *signs,
		    struct level_choice *out)
{
	struct levels_boundary end;
	int rc = levels_find_boundary(s, x, level, &end);
	if (rc)
		return rc;
	uint32_t trigram = end.trigram;
	struct anchor_count count = count_anchor(s, level, trigram);
	if (!count.n_missed && count.n && comes_before_first_end(s, level, trigram))
		count.n_missed = -1;
	*out = (struct level_choice){
		.anchor = s->trigrams.keys[trigram],
		.thread = s->events[levels_index_of(x, trigram)[0]].thread,
		.end = end.end,
		.calls_per_step = level->calls_per_iteration,
		.count = count.n + (uint64_t)count.n_missed,
		.n_missed = count.n_missed,
		.confidence = levels_sure(signs),
		.signs = *signs,
		.boundary = end.how,
		.is_near_end = end.is_near_end,
	};
	levels_find_backup(s, x, level, trigram, out);
	out->count -= levels_count_early(s, out);
	count_by_backup(s, &count, out);
	return 0;
}

/*
 * Returns whether the iterations of both choices have the same length, apart from small variations.
 */
static bool is_as_long(const struct level_choice *a, const struct level_choice *b)
{
	uint32_t most = a->calls_per_step > b->calls_per_step ? a->calls_per_step
							      : b->calls_per_step,
		 least = a->calls_per_step + b->calls_per_step - most;
	return (most - least) * ALIKE_SHARE <= most;
}

/*
 * The state of a comparison of two choices. The comparison goes through the step ends that either
 * choice finds, in the order of their occurrence. Choice 0 is the earlier choice.
 */
struct comparison {
	bool is_alike, is_noisy, ends_alike;
	/*
	 * in events: ends no further apart belong to the same step, whichever choice finds its end
	 * first
	 */
	uint32_t near;
	int last;	 /* the choice that found the last end; -1: no end yet */
	uint32_t at;	 /* the event of the last end */
	uint32_t before; /* number of events between the last two ends */
	/*
	 * The last two ends were found by the same choice, but the other choice's end may still
	 * follow.
	 */
	bool is_pending;
	bool is_other;
	uint32_t n, n_before, n_missing, n_missed_by_was;
};

/*
 * Notes that the other choice missed an end, because the last two ends were found by the same
 * choice.
 */
static void miss_one(struct comparison *c)
{
	bool is_more = c->last && !c->is_noisy;
	c->is_other |= is_more || !c->is_alike || !c->ends_alike;
	c->n_missing++;
	c->n_missed_by_was += c->last != 0;
	c->is_pending = false;
}

/*
 * Takes the end that choice `k` finds at event `i`. If a choice finds two ends in a row, the other
 * one usually missed a step. There is an exception: if a step has one launch more than others, the
 * backup of one choice may end the step before its anchor occurs. Then the end of the other choice,
 * which came first in earlier steps, comes second, and nothing was missed. This shows only if the
 * two ends of a step were close to each other before, too.
 */
static void take_end(struct comparison *c, int k, uint32_t i)
{
	bool is_before = !k && !c->n && c->is_alike;
	bool is_matched = c->is_pending && k != c->last && i - c->at <= c->near;
	if (c->is_pending && !is_matched)
		miss_one(c);
	bool is_second = k == c->last && c->n > 1;
	c->is_pending = is_second && c->before <= c->near;
	if (is_second && !c->is_pending)
		miss_one(c);
	c->before = i - c->at;
	c->at = i;
	c->last = is_matched ? !k : k;
	c->n_before += is_before;
	c->n += !is_before;
}

/* Finds the ends of both choices in the stored events and compares them. Stops when they differ. */
static void compare_ends(const struct levels_store *s, const struct level_choice *was,
			 const struct level_choice *now, struct comparison *out)
{
	const struct level_choice *choices[] = { was, now };
	struct iteration iterations[2] = { 0 };
	uint32_t at[2] = { 0 };
	for (uint32_t i = 0; i < s->n && !out->is_other; i++) {
		for (int k = 0; k < 2; k++) {
			const struct level_choice *c = choices[k];
			const struct iteration_anchors anchors = levels_iteration_of(c);
			uint32_t thread = s->events[i].thread;
			uint64_t hash = levels_store_hash(s, &s->events[i], c->anchor);
			at[k] += thread == c->thread;
			if (iteration_is_moved(&iterations[k], &anchors, thread, hash) &&
			    iteration_take(&iterations[k], &anchors, thread, at[k], hash))
				take_end(out, k, i);
		}
	}
	if (out->is_pending)
		miss_one(out);
}

enum levels_agreement levels_compare(const struct levels_store *s, const struct level_choice *was,
				     const struct level_choice *now)
{
	uint32_t calls = was->calls_per_step < now->calls_per_step ? was->calls_per_step
								   : now->calls_per_step;
	struct comparison c = {
		.is_alike = is_as_long(was, now),
		.is_noisy = was->signs.is_noisy || now->signs.is_noisy,
		.ends_alike = was->boundary == now->boundary,
		.near = calls / NEAR_SHARE,
		.last = -1,
	};
	compare_ends(s, was, now, &c);
	bool is_worse = c.is_noisy && 2 * c.n_missed_by_was < c.n_missing;
	uint32_t share = c.is_noisy ? MISSED_SHARE_NOISY : MISSED_SHARE;
	if (c.is_other || is_worse || c.n_missing * share > c.n)
		return LEVELS_OTHER;
	if (c.n_before > 1)
		return c.n && c.ends_alike ? LEVELS_SAME_FEWER : LEVELS_OTHER;
	return c.n_missing && !c.is_noisy ? LEVELS_SAME_FEWER : LEVELS_SAME;
}
