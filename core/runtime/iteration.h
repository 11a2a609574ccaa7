/*
 * Decides whether a launch ends a step. Usually the launch that completes the anchor ends the step.
 * If the anchor fails to occur in an iteration, because logging or a branch changed the launches
 * around it, the backup ends the step instead. The backup is a second trigram (a hash of three
 * launches in a row) in another part of the iteration. It is a little before the anchor or, if the
 * anchor marks the start of a step, a little after the anchor.
 *
 * The forward pass of an evaluation can contain the anchor, too, because it makes the same launches
 * as the forward pass of a training step. Such an occurrence ends no step. It is detected because
 * the backup has not occurred since the previous anchor, and because it comes too soon after the
 * previous anchor (`apart`).
 *
 * Used by the library in the application, by the collector, and by tests. A launch costs a few
 * loads and stores. Only one thread at a time may be in iteration_take().
 */
#ifndef CORE_ITERATION_H
#define CORE_ITERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct iteration_anchors {
	uint64_t anchor, backup; /* trigram hashes (core/runtime/token.h); `backup` 0: no backup */
	/* Not 0: the backup precedes the anchor, and the anchor is launch number `within` of its
	 * thread after the backup. If another launch takes that place, the anchor is missing from
	 * this iteration. 0: the backup follows the anchor. */
	uint32_t within;
	uint32_t thread; /* the thread that launches the anchor */
	/* An anchor ends no step if, since the previous anchor, the backup has not occurred and the
	 * thread has made fewer than `apart` launches. 0: every anchor ends a step. */
	uint32_t apart;
	/* Not 0: only one anchor in `every` ends a step. There is no backup then. */
	uint32_t every;
};

/*
 * Returns whether the anchor number `n` since the start of the run ends a step, if one in `every`
 * does. `lead`: number of the first one that does, or 0 if that is `every`.
 */
static inline bool iteration_ends_at(uint64_t n, uint32_t every, uint32_t lead)
{
	return every < 2 || (n >= lead && (n - lead) % every == 0);
}

/* Returns how many of the first `n` anchors end a step. */
static inline uint64_t iteration_n_ended(uint64_t n, uint32_t every, uint32_t lead)
{
	if (every < 2 || n < lead)
		return every < 2 ? n : 0;
	return (n - lead) / every + (lead > 0);
}

/* The last occurrence of the anchor, whether or not it ended a step. */
struct iteration_last {
	uint32_t thread, at; /* `at`: how many launches the thread had made then */
	bool has_come;	     /* false: the anchor has not occurred yet */
};

/*
 * Returns whether an anchor at launch number `at` of `thread` is too early to end a step. Stores
 * this anchor as the last one. `is_due`: the backup has occurred since the previous anchor.
 */
static inline bool iteration_is_early(struct iteration_last *last, uint32_t apart, uint32_t thread,
				      uint32_t at, bool is_due)
{
	bool early = !is_due && last->has_come && last->thread == thread && at - last->at < apart;
	*last = (struct iteration_last){ thread, at, true };
	return early;
}

/* The position in the current iteration. All threads share it. */
struct iteration {
	/* If the backup precedes the anchor (`within` is not 0): how many launches the anchor's
	 * thread has made since the backup, plus 1; 0 if the backup has not occurred, or if the
	 * anchor has occurred after the backup. If the backup follows the anchor: 1 if the anchor
	 * has occurred and the backup has not occurred yet, else 0. */
	_Atomic uint32_t since_backup;
	struct iteration_last last;
	/* The step was ended although its anchor was missing. If the anchor still occurs later, it
	 * does not end another step. */
	bool is_counted;
	/* Number of anchors since the last step ended, if only one in `every` ends a step. Less
	 * than 0 if the next step ends later. */
	int32_t n_anchors;
};

/* Returns whether the backup has occurred and the anchor is expected, or the reverse if the backup
 * follows the anchor. */
static inline bool iteration_waits(const struct iteration *t)
{
	return atomic_load_explicit(&t->since_backup, memory_order_relaxed) != 0;
}

/* Starts with a new anchor, in the middle of an iteration. */
static inline void iteration_begin(struct iteration *t, const struct iteration_anchors *a)
{
	atomic_store_explicit(&t->since_backup, a->backup && !a->within, memory_order_relaxed);
	t->is_counted = false;
	t->last.has_come = false;
	t->n_anchors = 0;
}

/* Returns whether iteration_take() must be called for a launch of `thread` that completes `hash`.
 * Otherwise counts the launch in `since_backup`. Any thread. */
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
	/* a plain store could overwrite a reset by an anchor on another thread */
	atomic_compare_exchange_strong_explicit(&t->since_backup, &n, n + 1, memory_order_relaxed,
						memory_order_relaxed);
	return false;
}

/* Returns whether a launch that completes `hash` is an anchor or stands for a missing one. */
static inline bool iteration_is_anchor(struct iteration *t, const struct iteration_anchors *a,
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

/* Returns whether a launch that completes `hash` ends a step. It is launch number `at` of
 * `thread`. */
static inline bool iteration_take(struct iteration *t, const struct iteration_anchors *a,
				  uint32_t thread, uint32_t at, uint64_t hash)
{
	if (!iteration_is_anchor(t, a, thread, at, hash))
		return false;
	if (a->every < 2)
		return true;
	if (++t->n_anchors < (int32_t)a->every)
		return false;
	t->n_anchors = 0;
	return true;
}

#endif
