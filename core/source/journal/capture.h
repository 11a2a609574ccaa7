/* Stream captures. What a thread captures from a stream becomes part of a graph and has no work of
 * its own. */
#ifndef CORE_CAPTURE_H
#define CORE_CAPTURE_H

#include "core/source/journal/dict.h"

struct capture {
	uint64_t stream;
	bool is_on;
};

/* Notes that the thread's next call begins or ends a capture. Other calls are ignored. */
void capture_note(struct capture *c, const struct dict *d, const struct rec_call *call);

/*
 * Returns the capture in which the first of a thread's `n` calls lies; `is_on` false: none. A step
 * or a window may begin inside a capture, if the program captures in every step. Then the first
 * call of a capture is the one that ends it.
 */
struct capture capture_at_first(const struct dict *d, const struct rec_call *calls, size_t n);

#endif
