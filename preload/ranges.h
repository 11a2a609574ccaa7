/*
 * The application's own ranges (NVTX): which are open is known at any time, and they are written into the journal while steps
 * are recorded. What was opened before is written late, with the first record that its thread makes then; what was written
 * open is written closed, whatever the schedule says by that time. So the reader sees whole ranges alone.
 */
#ifndef PRELOAD_RANGES_H
#define PRELOAD_RANGES_H

#include "preload/hook.h"
#include "preload/range_names.h"

/* One of the two, or neither. `text` may be gone after the call. */
struct range_message {
	const char *text;
	struct range_name *registered;
	uint32_t color; /* ARGB, 0: none */
};

/* The range's level within its domain, from 0; negative where none can be kept. Hot. */
int ranges_push(struct range_domain *domain, const struct range_message *message);

/* The level of the range that ends, negative where none is open. Hot. */
int ranges_pop(struct range_domain *domain);

/* Ranges that may end on another thread: an id, never 0. */
uint64_t ranges_start(struct range_domain *domain, const struct range_message *message);
void ranges_end(uint64_t id);

void ranges_mark(struct range_domain *domain, const struct range_message *message);

/* The thread's open ranges that are not in the journal yet. Cold: with the first record of an recorded step. */
void ranges_catch_up(void);

static inline void ranges_before_record(void)
{
	if (UNLIKELY(hook_thread.has_ranges_to_write) &&
	    atomic_load_explicit(&hook_switch.ranges, memory_order_relaxed))
		ranges_catch_up();
}

/* PROF_STEP=nvtx: whether a range that begins steps is open already, on this thread or on none. At arming. */
bool ranges_any_begins_step(void);

/* An recorded step has begun, after one that was not. */
void ranges_record(void);

/* In a forked child. */
void ranges_forget(void);

#endif
