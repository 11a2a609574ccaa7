/* The waits of the CPU for the GPU. To read a value, a program makes a copy and a synchronization.
 * Both calls together are one wait. */
#ifndef CORE_WAITS_H
#define CORE_WAITS_H

#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct timeline;
struct timeline_call;
struct timeline_step;

struct wait {
	/* Calls of the timeline: the same call twice, or a copy and the synchronization
	 * after it. */
	uint32_t first, last;
	uint8_t kind; /* enum sync_kind */
	/* The copy itself is the reason for the wait, not the work before the copy. */
	bool is_copying;
};

/* All zeros is empty. */
struct waits {
	VEC(struct wait) at;
	VEC(uint32_t) of_call; /* by call of the timeline: index in `at`, or WAITS_NONE */
};

#define WAITS_NONE UINT32_MAX

/* Appends the waits of the timeline's newest step, whose calls have their `wait` set. */
void waits_add_step(struct waits *w, const struct timeline *t, const struct timeline_step *step);
/* Keeps the first `n_waits` waits and `n_calls` calls. For steps that are removed from the
 * timeline. */
void waits_truncate(struct waits *w, size_t n_waits, size_t n_calls);
void waits_free(struct waits *w);

/* Returns how long the CPU was blocked in the wait's calls, in ns. */
uint64_t wait_blocked_ns(const struct timeline *t, const struct wait *w);

/*
 * Returns the call whose line is shown for the wait. For a copy and the synchronization after it,
 * this is the copy if it is on another line and blocked as well; otherwise the synchronization.
 */
const struct timeline_call *wait_shown_call(const struct timeline *t, const struct wait *w);

/* Returns true if the CPU waits on the call's own line: inside the call, or in the synchronization
 * after it. */
bool waits_holds_line(const struct waits *w, const struct timeline *t, uint32_t call);

#endif
