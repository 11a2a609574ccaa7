/*
 * The application's own ranges (NVTX). Open ranges are tracked at all times, but written to the
 * journal only while steps are recorded. A range that was opened earlier is written late, with its
 * thread's first record. If the start of a range was written, its end is written too, even if
 * recording has stopped by then. The reader therefore sees only complete ranges.
 */
#ifndef PRELOAD_RANGES_H
#define PRELOAD_RANGES_H

#include "preload/hook.h"
#include "preload/range_names.h"

/* The name of a range. At most one of `text` and `registered` is set. `text` need not outlive the
 * call. */
struct range_message {
	const char *text;
	struct range_name *registered;
	uint32_t color; /* ARGB, 0: none */
};

/* Opens a range. Returns its level within its domain, counted from 0. Returns a negative number if
 * the range cannot be tracked. Hot path. */
int ranges_push(struct range_domain *domain, const struct range_message *message);

/* Closes the innermost open range of the domain. Returns its level, or a negative number if none is
 * open. Hot path. */
int ranges_pop(struct range_domain *domain);

/* Opens and closes a range that may end on another thread. The id that ranges_start returns is
 * never 0. */
uint64_t ranges_start(struct range_domain *domain, const struct range_message *message);
void ranges_end(uint64_t id);

void ranges_mark(struct range_domain *domain, const struct range_message *message);

/* Writes the thread's open ranges that are not in the journal yet. Called before the thread's first
 * record of a recorded step. Not on the hot path. */
void ranges_catch_up(void);

static inline void ranges_before_record(void)
{
	if (UNLIKELY(hook_thread.has_ranges_to_write) &&
	    atomic_load_explicit(&hook_switch.ranges, memory_order_relaxed))
		ranges_catch_up();
}

/* For PROF_STEP=nvtx: returns whether a range that begins steps is open already, either on this
 * thread or not bound to a thread. Called at startup. */
bool ranges_any_begins_step(void);

/* Called when a recorded step follows an unrecorded one: writes the open ranges that are not bound
 * to a thread. */
void ranges_record(void);

/*
 * Returns whether the calling thread has opened a range, or any thread has started one. If not,
 * ranges_forget() has nothing to do, unless names are in a journal.
 */
bool ranges_are_used(void);

/* In a forked child: marks all open ranges as not written yet. */
void ranges_forget(void);

#endif
