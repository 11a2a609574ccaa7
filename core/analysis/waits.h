/*
 * The waits of the host. Reading a value takes a copy and a synchronization: together they are one
 * wait of two calls.
 */
#ifndef CORE_WAITS_H
#define CORE_WAITS_H

#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct timeline;
struct timeline_call;
struct timeline_step;

struct wait {
	uint32_t first, last; /* calls: the same one, or a copy and the synchronization after it */
	uint8_t kind;	      /* enum sync_kind */
	bool is_copying;      /* the copy itself takes the time, not the work before it */
};

/* All zeros is empty. */
struct waits {
	VEC(struct wait) at;
	VEC(uint32_t) of_call; /* by call: index in `at`, or WAITS_NONE */
};

#define WAITS_NONE UINT32_MAX

/* Appends the waits of the timeline's newest step, whose calls have their `wait` set. */
void waits_add_step(struct waits *w, const struct timeline *t, const struct timeline_step *step);
/* Truncates to this many waits and calls. */
void waits_truncate(struct waits *w, size_t n_waits, size_t n_calls);
void waits_free(struct waits *w);

/* Returns how long the host was blocked, over both calls. */
uint64_t wait_blocked_ns(const struct timeline *t, const struct wait *w);

/* Returns the call whose line is shown for the wait: of calls on two lines the
 * copy, if it blocked. */
const struct timeline_call *wait_shown_call(const struct timeline *t, const struct wait *w);

/* Returns true if the host waits for this call on the call's own line: inside it, or in the
 * synchronization after it. */
bool waits_holds_line(const struct waits *w, const struct timeline *t, uint32_t call);

#endif
