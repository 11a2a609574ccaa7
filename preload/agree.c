/* See agree.h. */
#include "preload/agree.h"

#include "core/runtime/clock.h"
#include "core/runtime/journal.h"
#include "core/runtime/log.h"
#include "core/runtime/ranks.h"

/*
 * How much longer than the collector this rank waits for the other ranks. So this rank's wait ends
 * without an answer only if the collector no longer runs.
 */
#define PATIENCE_FACTOR 3
/*
 * The rank also waits for at least this many steps, because later steps may be much longer than the
 * steps from which the time limit is computed. The collector compares the ranks' step numbers over
 * at least 8 steps (core/source/process/ranks_apart.c).
 */
#define STEPS_LEAST 24

void agree_begin(struct agree *a, struct journal_steps *shared, enum start_of kind,
		 uint64_t current)
{
	const struct journal_clock_point *first = &journal_header()->clock.first;
	struct journal_clock_point now = clock_point(journal_header()->clock.kind);
	double elapsed_s = (double)(now.monotonic_ns - first->monotonic_ns) / 1e9;
	double wait_s = ranks_patience_s(elapsed_s, current) * PATIENCE_FACTOR;
	double ticks_per_s = elapsed_s > 0 ? (double)(now.ticks - first->ticks) / elapsed_s : 1e9;
	a->until_ticks = now.ticks + (uint64_t)(wait_s * ticks_per_s);
	a->until_step = current + STEPS_LEAST;
	a->waits = true;
	atomic_store_explicit(&shared->current, current, memory_order_relaxed);
	atomic_store_explicit(&shared->start_of, kind, memory_order_relaxed);
	/* release: a collector that reads waits_for_start also sees `current` and `start_of` */
	atomic_store_explicit(&shared->waits_for_start, ++a->asked, memory_order_release);
}

bool agree_is_over(struct agree *a, struct journal_steps *shared, uint64_t number, uint64_t ticks,
		   uint64_t *start)
{
	bool is_named = atomic_load_explicit(&shared->start_is_named, memory_order_acquire) ==
			a->asked;
	if (!is_named && (ticks < a->until_ticks || number < a->until_step))
		return false;
	*start = is_named ? atomic_load_explicit(&shared->start, memory_order_relaxed) : number;
	a->waits = false;
	if (!is_named)
		log_line(LOG_WARN,
			 "the ranks got no common start step in time: this rank's schedule starts "
			 "at step %llu, and those of other ranks may start at a different step",
			 (unsigned long long)number);
	return true;
}
