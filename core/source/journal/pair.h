/*
 * Which call caused which piece of GPU work. Exact by CUPTI's external correlation (correlation -> thread slot and seq); where
 * there is none, by CUPTI's own record of the API call, which overlaps the hooked call of the same thread. Where CUPTI was not
 * asked to record calls, pair_order.h finds what the external correlation would say. GPU records may come in any order; what belongs
 * to calls before or after the ones given is told apart from what belongs to none.
 */
#ifndef CORE_PAIR_H
#define CORE_PAIR_H

#include "core/runtime/record.h"
#include "core/source/journal/dict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thread's calls of a step, in order. `first` is the number of calls[0] in the whole step. */
struct pair_thread {
	uint32_t slot, tid, handle; /* CUPTI names a thread by one of the last two */
	const struct rec_call *calls;
	size_t n_calls;
	uint32_t first;
	uint32_t closed_seq; /* of the last call before these that had GPU work */
};

/* From `ticks` on calls were recorded again; CUPTI was on before. */
struct pair_opening {
	uint64_t ticks;
	bool is_whole; /* it has the work of all calls that were not recorded, and these took numbers, too */
};

struct pair_input {
	const struct dict *dict;
	const struct pair_thread *threads;
	size_t n_threads;
	const struct rec_external *externals;
	size_t n_externals;
	const struct rec_api *apis;
	size_t n_apis;
	const struct rec_gpu *works;
	size_t n_works;
	uint64_t begin_ticks, end_ticks; /* of the step */
	/* for pair_order.h and pair_first.h: whether CUPTI was on for it */
	bool (*expects_work)(const void *context, const struct rec_call *call);
	const void *context;
	/* for pair_order.h: ascending. is_closed: calls behind the last ones were not recorded, though CUPTI was on */
	const struct pair_opening *openings;
	size_t n_openings;
	bool is_closed;
	/* of work before the first of these calls: this id had its call; behind it n_gone pieces had none, which are not among these */
	bool has_gone;
	uint32_t gone_id;
	size_t n_gone;
};

/* Answers for work that is none of the calls given; all above any call's number. */
enum pair_answer {
	PAIR_UNKNOWN = 0xffffffffu, /* nothing says what caused it */
	PAIR_EARLIER = 0xfffffffeu, /* a call before the step */
	PAIR_LATER = 0xfffffffdu,   /* a call after it, or not read yet */
	PAIR_LOST = 0xfffffffcu,    /* a call within it whose record was dropped */
	PAIR_CALLS_END = 0xfffffff0u,
};

/* Fills call_of[n_works] with a call's number in the step or a pair_answer. */
void pair_match(const struct pair_input *in, uint32_t *call_of);

#endif
