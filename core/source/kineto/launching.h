/* Operators of a trace that launch work, each with facts of its own. Lists are sorted by thread and
 * time. An item begins with a struct trace_span. */
#ifndef CORE_KINETO_LAUNCHING_H
#define CORE_KINETO_LAUNCHING_H

#include "core/source/kineto/trace.h"

/*
 * Sorts the `n` items, of `bytes` bytes each, and drops those that launch nothing. Of two that
 * enclose the same launch, keeps the inner one: a barrier calls all-reduce, and a convolution calls
 * that of cuDNN. The trace's calls must be sorted. Returns the number of items that are left.
 */
size_t launching_keep(const struct trace *t, void *at, size_t n, size_t bytes);

/* The items of a thread that begin in a time: from `first` to before `last`. Start with zeros. */
struct launching_part {
	size_t first, last, next;
};

/* Finds the next thread with such items. Returns false after the last. */
bool launching_next(struct launching_part *p, const void *at, size_t n, size_t bytes,
		    uint64_t begin_ns, uint64_t end_ns);

#endif
