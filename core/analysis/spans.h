/*
 * What surrounds the calls of a thread, as spans that nest: the ranges that the application marked, within them the
 * framework's operators and autograd nodes, which the calls' stacks tell, and the libraries' functions. An operator is seen only while it
 * makes calls: its span goes from its first call's begin to its last one's end, or from and to that of the library's function around it;
 * and from the first block before that call that it asked the framework's allocator for.
 */
#ifndef CORE_SPANS_H
#define CORE_SPANS_H

#include "core/model/model.h"
#include "core/symbols/frames.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* In this order from the outside in, where two have the same length. */
enum span_kind { SPAN_RANGE, SPAN_OPERATOR, SPAN_LIBRARY };

struct span {
	uint64_t begin_ns, end_ns;
	const char *operator; /* SPAN_OPERATOR: owned by the frames */
	uint32_t range;	      /* SPAN_RANGE: index in the model's ranges */
	uint32_t library;     /* SPAN_LIBRARY: in its libraries */
	uint32_t depth;	      /* 0: within no other span */
	uint32_t first_call,
		n_calls; /* SPAN_OPERATOR: in the model's calls, all of one thread in a row */
	uint8_t kind;
};

/* What a stack says, looked up once: its operators, outermost first. */
struct span_stack {
	uint32_t first, n; /* in `operators` */
};

struct span_operator {
	const char *name;
	uint64_t outside; /* a hash of the frames that it was called from */
};

/* Around the calls of one thread. All zero is empty. */
struct span_list {
	VEC(struct span) at;	/* by begin, outer ones first; none crosses another one or a call */
	VEC(uint32_t) crossing; /* ranges that do: indexes in the model's ranges, by begin */
	VEC(uint32_t) marks;	/* the thread's marks, by time, likewise */
};

void span_list_free(struct span_list *l);

/* What is known of stacks, for all threads and steps of a process. All zero is a good start. */
struct spans {
	VEC(uint32_t) made;  /* blocks that the thread asked for, by time: indexes in the model's */
	struct map stack_of; /* DICT_STACK -> index in `stacks` */
	VEC(struct span_stack) stacks;
	VEC(struct span_operator) operators;
};

/* Replaces `list` by the spans of m->threads.at[thread]. `frames` may be NULL: then there are no
 * operators. */
void spans_find(struct spans *s, const struct model_step *m, size_t thread, struct frames *frames,
		struct span_list *list);
void spans_free(struct spans *s);

/* A call with the same stack as the one before it, and later than this after it, is of another run
 * of the operator. */
uint64_t spans_pause_ns(const char *operator);

/* Calls of a thread follow one another; where a damaged journal says otherwise, each is taken to begin when the one before it
 * has ended. Called in order with `last_end_ns`, 0 at first. */
static inline void spans_clip(const struct model_call *c, uint64_t *begin_ns, uint64_t *last_end_ns)
{
	*begin_ns = c->begin_ns > *last_end_ns ? c->begin_ns : *last_end_ns;
	*last_end_ns = c->end_ns > *begin_ns ? c->end_ns : *begin_ns;
}

#endif
