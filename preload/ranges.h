/*
 * The application's own ranges (NVTX). The open ones are tracked at all times; they are written to
 * the journal while steps are recorded. A range that was opened before that is written late, with
 * its thread's first record. A range whose begin was written gets its end written, whatever the
 * schedule says by then. The reader therefore sees only complete ranges.
 */
#ifndef PRELOAD_RANGES_H
#define PRELOAD_RANGES_H

#include "preload/hook.h"
#include "preload/range_names.h"

/* `text`, `registered` or neither is set. `text` need not outlive the call. */
struct range_message {
	const char *text;
	struct range_name *registered;
	uint32_t color; /* ARGB, 0: none */
};

/* Opens a range. Returns its level within its domain, from 0; negative if it cannot be tracked.
 * Hot. */
int ranges_push(struct range_domain *domain, const struct range_message *message);

/* Closes the innermost range. Returns its level, negative if none is open. Hot. */
int ranges_pop(struct range_domain *domain);

/* Opens and closes a range that may end on another thread. The id is never 0. */
uint64_t ranges_start(struct range_domain *domain, const struct range_message *message);
void ranges_end(uint64_t id);

void ranges_mark(struct range_domain *domain, const struct range_message *message);

/* Writes the thread's open ranges that are not in the journal yet. Called with its first record of
 * a recorded step. Cold. */
void ranges_catch_up(void);

static inline void ranges_before_record(void)
{
	if (UNLIKELY(hook_thread.has_ranges_to_write) &&
	    atomic_load_explicit(&hook_switch.ranges, memory_order_relaxed))
		ranges_catch_up();
}

/* PROF_STEP=nvtx: returns whether a range that begins steps is open already, on this thread or not
 * bound to one. Called at startup. */
bool ranges_any_begins_step(void);

/* Called when a recorded step begins after one that was not. */
void ranges_record(void);

/* In a forked child. */
void ranges_forget(void);

#endif
