/*
 * Finds what surrounds the calls of a thread, as nested spans: ranges that the application marked,
 * operators and autograd nodes of the framework, and library functions. Operators and nodes are
 * derived from stacks, so they are visible only while they make calls. The span of an operator
 * lasts from the start of its first call to the end of its last one. The span is longer if library
 * functions enclose these calls, or if the operator allocated blocks before its first call.
 */
#ifndef CORE_SPANS_H
#define CORE_SPANS_H

#include "core/model/model.h"
#include "core/symbols/frames.h"
#include "core/util/map.h"
#include "core/util/vec.h"

/* Spans with the same begin and end nest in this order, outermost first. */
enum span_kind { SPAN_RANGE, SPAN_OPERATOR, SPAN_LIBRARY };

struct span {
	uint64_t begin_ns, end_ns;
	const char *operator; /* SPAN_OPERATOR: its name, owned by the frames */
	uint32_t range;	      /* SPAN_RANGE: index in the model's ranges */
	uint32_t library;     /* SPAN_LIBRARY: index in the model's libraries */
	uint32_t depth;	      /* 0: outermost */
	/* SPAN_OPERATOR: the calls in the span. They are consecutive calls of one thread;
	 * first_call is an index in the model's calls. n_calls is 0 only if the source knows
	 * operators (model_operator); first_call is then the next call's index. */
	uint32_t first_call, n_calls;
	uint8_t kind;
};

/* The operators of a stack, outermost first. They are looked up once per stack. */
struct span_stack {
	uint32_t first, n; /* indexes in `operators`: `n`, from `first` on */
};

struct span_operator {
	const char *name;
	uint64_t outside; /* hash of the frames outside the operator's own frame */
};

/* The spans of one thread. All zeros is empty. */
struct span_list {
	/* Sorted by start, outer spans first. No span crosses another span or a call. */
	VEC(struct span) at;
	/* Ranges that cross a call or another range: indexes in the model's ranges, sorted by
	 * begin. */
	VEC(uint32_t) crossing;
	/* Marks (ranges without a duration) of the thread: indexes in the model's ranges, sorted by
	 * time. */
	VEC(uint32_t) marks;
};

void span_list_free(struct span_list *l);

/* Stacks looked up so far, for all threads and steps of a process. All zeros is a valid start. */
struct spans {
	/* The blocks that the current thread allocated, in order of time: indexes in the model's
	 * blocks. */
	VEC(uint32_t) made;
	struct map stack_of; /* DICT_STACK -> index in `stacks` */
	VEC(struct span_stack) stacks;
	VEC(struct span_operator) operators;
};

/* Replaces the contents of `list` by the spans of m->threads.at[thread]. `frames` may be NULL: then
 * no operators are found. */
void spans_find(struct spans *s, const struct model_step *m, size_t thread, struct frames *frames,
		struct span_list *list);
void spans_free(struct spans *s);

/* Adds the operators of the thread that the source knows. `list` has the thread's ranges. */
void spans_add_known(struct span_list *list, const struct model_step *m, size_t thread);

/* Returns whether `inner`, which begins later or follows in a list of spans, is within `outer`. */
static inline bool spans_is_within(const struct span *inner, const struct span *outer)
{
	if (inner->n_calls && outer->n_calls)
		return inner->first_call < outer->first_call + outer->n_calls;
	return inner->end_ns <= outer->end_ns && inner->begin_ns < outer->end_ns;
}

/* Returns the longest pause, in ns, between two calls of one run of the operator. If a call with
 * the same stack as the previous call comes after a longer pause, the operator was called again. */
uint64_t spans_pause_ns(const char *operator);

/*
 * Sets `begin_ns` and `last_end_ns` to the start and end of a call, clipped so that calls do not
 * overlap. The calls of a thread overlap only in a damaged journal; a call then begins when the
 * previous call ends. Call this for a thread's calls in order, with `last_end_ns` 0 before the
 * first call.
 */
static inline void spans_clip(const struct model_call *c, uint64_t *begin_ns, uint64_t *last_end_ns)
{
	*begin_ns = c->begin_ns > *last_end_ns ? c->begin_ns : *last_end_ns;
	*last_end_ns = c->end_ns > *begin_ns ? c->end_ns : *begin_ns;
}

#endif
