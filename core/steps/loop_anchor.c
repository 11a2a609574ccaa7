/* See loop_anchor.h. */
#include "core/steps/loop_anchor.h"

enum {
	/* The largest distance of anchor or backup from the begin of a step, in launches. */
	OFFSET_MOST = 64,
	TRIGRAM = 3,
	/* One step in this many may lack the anchor. */
	MISSES = 10,
};

struct search {
	const struct loop_tree *tree;
	const loop_begins *begins;
	struct map count_of_hash; /* over all threads */
};

static void count_hashes(struct search *x)
{
	for (size_t i = 0; i < x->tree->threads.n; i++) {
		const struct loop_thread *t = &x->tree->threads.at[i];
		for (size_t k = 0; k < t->hashes.n; k++)
			++*map_at(&x->count_of_hash, t->hashes.at[k], NULL);
	}
}

static const struct loop_thread *thread_of(const struct search *x, uint32_t slot)
{
	const uint64_t *at = map_find(&x->tree->thread_of_slot, slot);
	return at ? &x->tree->threads.at[*at] : NULL;
}

/*
 * Returns the trigram at `offset` from the first launch of step `k` or, if `offset` is negative, from
 * the end of step `k`. Returns 0 if there is no launch.
 */
static uint64_t hash_at(const struct search *x, size_t k, int offset)
{
	const struct loop_begin *b = &x->begins->at[k];
	const struct loop_thread *t = thread_of(x, b->slot);
	int64_t at = (int64_t)b->launch + (offset < 0 ? b->n_launches : 0) + offset;
	return t && at >= 0 && (size_t)at < t->hashes.n ? t->hashes.at[at] : 0;
}

/* Returns how many threads made a launch with this trigram last: their step may just have ended. */
static size_t count_last(const struct search *x, uint64_t hash)
{
	size_t n = 0;
	for (size_t i = 0; i < x->tree->threads.n; i++) {
		const struct loop_thread *t = &x->tree->threads.at[i];
		n += t->hashes.n && t->hashes.at[t->hashes.n - 1] == hash;
	}
	return n;
}

/*
 * Returns the trigram that occurs at `offset` in nearly all steps (see hash_at()), and nowhere else;
 * 0 if there is none. The first step may differ.
 */
static uint64_t trigram_at(const struct search *x, int offset)
{
	size_t n = 0, n_there = 0, n_steps = x->begins->n;
	uint64_t hash = hash_at(x, n_steps / 2 ? n_steps / 2 : 1, offset);
	for (size_t k = 1; hash && k < n_steps; k++) {
		uint64_t here = hash_at(x, k, offset);
		n += here != 0;
		n_there += here == hash;
	}
	if (!hash || n - n_there > n / MISSES)
		return 0;
	uint64_t all = *map_find(&x->count_of_hash, hash);
	n_there += hash_at(x, 0, offset) == hash;
	return all <= n_there + (offset < 0 ? count_last(x, hash) : 0) ? hash : 0;
}

/* The offsets from the nearest to a boundary of steps outwards: -1, 0, -2, 1, ... */
static int offset_of(int i)
{
	return i % 2 ? i / 2 : -1 - i / 2;
}

/* A backup that shares no launch with the anchor and follows it within the same step. */
static uint64_t find_backup(const struct search *x, int anchor)
{
	for (int offset = anchor + TRIGRAM; offset < OFFSET_MOST; offset++) {
		uint64_t hash = offset < 0 ? 0 : trigram_at(x, offset);
		if (hash)
			return hash;
	}
	return 0;
}

static bool backup_is_last(const struct search *x, uint32_t slot, const struct level_choice *c)
{
	const struct loop_thread *t = thread_of(x, slot);
	for (size_t i = t ? t->hashes.n : 0; i-- > 0 && t->hashes.at[i] != c->anchor;)
		if (c->backup && t->hashes.at[i] == c->backup)
			return true;
	return false;
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static bool has_steps(const struct search *x, uint32_t slot)
{
	for (size_t i = 0; i < x->begins->n; i++)
		if (x->begins->at[i].slot == slot)
			return true;
	return false;
}

/*
 * Returns the median number of launches per step. Threads without steps of their own, such as those
 * of the backward pass, count with their mean.
 */
static uint32_t calls_per_step(const struct search *x)
{
	size_t n = x->begins->n, n_others = 0;
	uint32_t *sorted = mem_resize(NULL, n * sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sorted[i] = x->begins->at[i].n_launches;
	for (size_t i = 0; i < x->tree->threads.n; i++) {
		const struct loop_thread *t = &x->tree->threads.at[i];
		if (!has_steps(x, t->slot))
			n_others += t->hashes.n;
	}
	qsort(sorted, n, sizeof(*sorted), by_value);
	uint32_t median = sorted[n / 2];
	free(sorted);
	return median + (uint32_t)((n_others + n / 2) / n);
}

/* Returns the number of the first step that has the anchor. */
static size_t first_with(const struct search *x, int offset, uint64_t anchor)
{
	size_t k = 0;
	while (k < x->begins->n && hash_at(x, k, offset) != anchor)
		k++;
	return k;
}

/*
 * An anchor at a negative offset ends its own step. Any other one ends the step before, and that of
 * step 0 ends none.
 */
static void describe(const struct search *x, int offset, uint64_t anchor, struct level_choice *out)
{
	const loop_begins *b = x->begins;
	uint32_t slot = b->at[b->n / 2].slot;
	bool is_late = offset >= 0;
	int64_t n_missed = (int64_t)first_with(x, offset, anchor) - is_late;
	*out = (struct level_choice){
		.anchor = anchor,
		.thread = slot,
		.calls_per_step = calls_per_step(x),
		.count = *map_find(&x->count_of_hash, anchor) + (uint64_t)n_missed,
		.n_missed = n_missed,
		.is_late = is_late,
		.boundary = LEVEL_BY_LOOP,
	};
	out->backup = find_backup(x, offset);
	out->backup_is_last = backup_is_last(x, slot, out);
}

bool loop_anchor_find(const struct loop_tree *t, const struct loop_choice *c,
		      struct level_choice *out)
{
	struct search x = { .tree = t, .begins = &c->begins };
	uint64_t anchor = 0;
	count_hashes(&x);
	for (int i = 0; i < 2 * OFFSET_MOST && !anchor; i++) {
		anchor = trigram_at(&x, offset_of(i));
		if (anchor)
			describe(&x, offset_of(i), anchor, out);
	}
	map_free(&x.count_of_hash);
	return anchor != 0;
}
