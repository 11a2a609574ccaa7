/*
 * Whether a launch ends a step: the anchor's does; and if that fails to come in its iteration, because a log or a branch has changed the
 * launches around it, the backup's, which stands in an other part of the iteration: a little earlier, or, where a step is known by how it begins,
 * a little later. What an evaluation's forward pass has in common with a step's begins no other one: it comes without the backup, and too
 * soon. Shared by the application, which
 * counts, and tests. A few loads and stores; the caller lets one thread at a time into iteration_take().
 */
#ifndef CORE_ITERATION_H
#define CORE_ITERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Hashes of three launches (core/runtime/token.h). The anchor is the launch number `within` of its thread after the backup, or does not
 * come in this iteration; `within` 0: it is the backup that comes after it. `backup` 0: there is none. */
struct iteration_anchors {
	uint64_t anchor, backup;
	uint32_t within;
	uint32_t thread; /* that launches the anchor */
	/* where the backup has not come since the last anchor, and fewer launches of its thread than this, an anchor ends no step; 0: it always
	 * does */
	uint32_t apart;
};

/* Where the anchor came last, whether it ended a step or not. */
struct iteration_last {
	uint32_t thread, at; /* its count of launches */
	bool has_come;
};

/* The anchor comes with its thread's launch number `at`. `is_due`: the backup has come since the last one. */
static inline bool iteration_is_early(struct iteration_last *last, uint32_t apart, uint32_t thread,
				      uint32_t at, bool is_due)
{
	bool early = !is_due && last->has_come && last->thread == thread && at - last->at < apart;
	*last = (struct iteration_last){ thread, at, true };
	return early;
}

struct iteration {
	_Atomic uint32_t
		since_backup; /* 1 more than launches of the thread; 0: it has not come, or the anchor has since.
				 `within` 0: whether the anchor has come, and the backup not */
	struct iteration_last last;
	bool is_counted; /* the step ended without its anchor; one that comes late all the same ends no other */
};

static inline bool iteration_waits(const struct iteration *t)
{
	return atomic_load_explicit(&t->since_backup, memory_order_relaxed) != 0;
}

/* In the middle of one. */
static inline void iteration_begin(struct iteration *t, const struct iteration_anchors *a)
{
	atomic_store_explicit(&t->since_backup, a->backup && !a->within, memory_order_relaxed);
	t->is_counted = false;
	t->last.has_come = false;
}

/* Whether iteration_take() is to be asked of a launch of `thread` that completes `hash`. */
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
	/* a plain store could bring back a count that another thread's anchor has just ended */
	atomic_compare_exchange_strong_explicit(&t->since_backup, &n, n + 1, memory_order_relaxed,
						memory_order_relaxed);
	return false;
}

/* Whether the step ends after that launch, number `at` of `thread`. */
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
