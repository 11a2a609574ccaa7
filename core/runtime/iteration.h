/*
 * Decides whether a launch ends a step. The launch that completes the anchor does. If the anchor
 * fails to occur in an iteration, because logging or a branch changed the launches around it, the
 * backup ends the step instead. The backup is a second trigram in another part of the iteration: a
 * little before the anchor or, where the anchor marks the start of a step, a little after it.
 *
 * An evaluation's forward pass can contain the anchor too, as it shares launches with the step's
 * forward pass. Such an anchor ends no step: it occurs without the backup, and too soon after the
 * previous one (`apart`).
 *
 * Shared by the application, which counts, and the tests. Costs a few loads and stores. The caller
 * lets one thread at a time into iteration_take().
 */
#ifndef CORE_ITERATION_H
#define CORE_ITERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Trigram hashes (core/runtime/token.h). The anchor is launch number `within` of its thread after
 * the backup; if another launch takes that place, the anchor is missing from this iteration.
 * `within` 0: the backup follows the anchor. `backup` 0: no backup. */
struct iteration_anchors {
	uint64_t anchor, backup;
	uint32_t within;
	uint32_t thread; /* the thread that launches the anchor */
	/* An anchor ends no step if, since the previous anchor, the backup has not occurred and the
	 * thread has made fewer launches than this. 0: every anchor ends a step. */
	uint32_t apart;
};

/* The last occurrence of the anchor, whether or not it ended a step. */
struct iteration_last {
	uint32_t thread, at; /* the thread's launch count then */
	bool has_come;
};

/* Returns whether an anchor at launch number `at` of `thread` is too early to end a step, and
 * remembers it as the last one. `is_due`: the backup has occurred since the previous anchor. */
static inline bool iteration_is_early(struct iteration_last *last, uint32_t apart, uint32_t thread,
				      uint32_t at, bool is_due)
{
	bool early = !is_due && last->has_come && last->thread == thread && at - last->at < apart;
	*last = (struct iteration_last){ thread, at, true };
	return early;
}

struct iteration {
	/* Launches of the thread since the backup, plus 1. 0: the backup has not occurred, or the
	 * anchor has followed it. With `within` 0: whether the anchor has occurred and the backup
	 * not yet. */
	_Atomic uint32_t since_backup;
	struct iteration_last last;
	/* The step was ended without its anchor; if the anchor still occurs, late, it ends no other
	 * step. */
	bool is_counted;
};

static inline bool iteration_waits(const struct iteration *t)
{
	return atomic_load_explicit(&t->since_backup, memory_order_relaxed) != 0;
}

/* Starts in the middle of an iteration. */
static inline void iteration_begin(struct iteration *t, const struct iteration_anchors *a)
{
	atomic_store_explicit(&t->since_backup, a->backup && !a->within, memory_order_relaxed);
	t->is_counted = false;
	t->last.has_come = false;
}

/* Returns whether iteration_take() must be called for a launch of `thread` that completes `hash`.
 * Counts the launches since the backup. */
static inline bool iteration_is_moved(struct iteration *t, const struct iteration_anchors *a,
				      uint32_t thread, uint64_t hash)
{
	if (hash == a->anchor || hash == a->backup)
		return true;
	uint32_t n = atomic_load_explicit(&t->since_backup, memory_order_relaxed);
	if (!n || !a->within || thread != a->thread)
		return false;
	if (n >= a->within)
		return true;
	/* a plain store could restore a count that another thread's anchor has just reset */
	atomic_compare_exchange_strong_explicit(&t->since_backup, &n, n + 1, memory_order_relaxed,
						memory_order_relaxed);
	return false;
}

/* Returns whether the step ends after this launch, number `at` of `thread`. */
static inline bool iteration_take(struct iteration *t, const struct iteration_anchors *a,
				  uint32_t thread, uint32_t at, uint64_t hash)
{
	uint32_t since = atomic_load_explicit(&t->since_backup, memory_order_relaxed);
	bool was_counted = t->is_counted, is_backup = hash == a->backup;
	bool is_due = a->within ? since : !since;
	if (hash == a->anchor && iteration_is_early(&t->last, a->apart, thread, at, is_due))
		return false;
	if (a->backup && !a->within && (is_backup || hash == a->anchor)) {
		atomic_store_explicit(&t->since_backup, !is_backup, memory_order_relaxed);
		return !is_backup || !since;
	}
	if (hash != a->anchor && !is_backup && since < a->within)
		return false;
	atomic_store_explicit(&t->since_backup, is_backup, memory_order_relaxed);
	t->is_counted = hash != a->anchor && !is_backup;
	if (is_backup)
		return since;
	return hash != a->anchor || !was_counted;
}

#endif
