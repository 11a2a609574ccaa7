/*
 * Finds what surrounds the calls of a thread, as nested spans: ranges marked by the application,
 * within them the framework's operators and autograd nodes, derived from stacks, and library
 * functions. An operator is only visible while it makes calls: its span lasts from the begin of its
 * first call to the end of its last one, including library functions around these and blocks that
 * it allocated before the first one.
 */
#ifndef CORE_SPANS_H
#define CORE_SPANS_H

#include "core/model/model.h"
#include "core/symbols/frames.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* From the outside in, if two have the same length. */
enum span_kind { SPAN_RANGE, SPAN_OPERATOR, SPAN_LIBRARY };

struct span {
	uint64_t begin_ns, end_ns;
	const char *operator; /* SPAN_OPERATOR: owned by the frames */
	uint32_t range;	      /* SPAN_RANGE: index in the model's ranges */
	uint32_t library;     /* SPAN_LIBRARY: in its libraries */
	uint32_t depth;	      /* 0: outermost */
	/* SPAN_OPERATOR: consecutive calls of one thread, indexes in the model's calls. */
	uint32_t first_call, n_calls;
	uint8_t kind;
};

/* The operators of a stack, outermost first; looked up once. */
struct span_stack {
	uint32_t first, n; /* in `operators` */
};

struct span_operator {
	const char *name;
	uint64_t outside; /* a hash of the frames that it was called from */
};

/* The spans of one thread. All zeros is empty. */
struct span_list {
	VEC(struct span) at;	/* by begin, outer ones first; none crosses another one or a call */
	VEC(uint32_t) crossing; /* ranges that cross: indexes in the model's ranges, by begin */
	VEC(uint32_t) marks;	/* the thread's marks: indexes likewise, by time */
};

void span_list_free(struct span_list *l);

/* Stacks looked up so far, for all threads and steps of a process. All zeros is a valid start. */
struct spans {
	/* The thread's allocations, by time: indexes in the model's blocks. */
	VEC(uint32_t) made;
	struct map stack_of; /* DICT_STACK -> index in `stacks` */
	VEC(struct span_stack) stacks;
	VEC(struct span_operator) operators;
};

/* Replaces `list` by the spans of m->threads.at[thread]. `frames` may be NULL: then there are no
 * operators. */
void spans_find(struct spans *s, const struct model_step *m, size_t thread, struct frames *frames,
		struct span_list *list);
void spans_free(struct spans *s);

/* Returns the longest pause within a run: a call with the same stack as the previous one, after a
 * longer pause, belongs to another run of the operator. */
uint64_t spans_pause_ns(const char *operator);

/* Calls of a thread do not overlap. If they do, in a damaged journal, each is clipped to begin when
 * the previous one ends. Call this for the calls in order; `last_end_ns` is 0 at first. */
static inline void spans_clip(const struct model_call *c, uint64_t *begin_ns, uint64_t *last_end_ns)
{
	*begin_ns = c->begin_ns > *last_end_ns ? c->begin_ns : *last_end_ns;
	*last_end_ns = c->end_ns > *begin_ns ? c->end_ns : *begin_ns;
}

#endif
