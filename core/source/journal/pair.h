/*
 * Pairing: which call launched which piece of GPU work. CUPTI's external correlation gives the
 * exact answer (correlation id -> thread slot and seq). Where there is none, CUPTI's own record of
 * the API call is used: it overlaps the hooked call of the same thread. If CUPTI was not asked to
 * record calls, pair_order.h finds what the external correlation would be. GPU records may come in
 * any order. Work of calls before or after the given ones is distinguished from work of no known
 * call.
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
	uint32_t slot, tid, handle; /* CUPTI identifies a thread by tid or handle */
	const struct rec_call *calls;
	size_t n_calls;
	uint32_t first;
	uint32_t closed_seq; /* of the last earlier call that had GPU work */
};

/* Recording of calls resumed at `ticks`; CUPTI was on before. */
struct pair_opening {
	uint64_t ticks;
	/*
	 * CUPTI's records include the work of all unrecorded calls, and those calls took seq
	 * numbers too.
	 */
	bool is_whole;
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
	/* For pair_order.h and pair_first.h: whether CUPTI was on for the call. */
	bool (*expects_work)(const void *context, const struct rec_call *call);
	const void *context;
	/*
	 * For pair_order.h. The openings are in ascending order. is_closed: calls after the last
	 * ones were not recorded, though CUPTI was on.
	 */
	const struct pair_opening *openings;
	size_t n_openings;
	bool is_closed;
	/*
	 * About work before these calls, which is not in `works`: gone_id was the last correlation
	 * id that was paired, and n_gone pieces after it were not.
	 */
	bool has_gone;
	uint32_t gone_id;
	size_t n_gone;
};

/* Answers for work of none of the given calls; all are greater than any call's number. */
enum pair_answer {
	PAIR_UNKNOWN = 0xffffffffu, /* unknown what launched it */
	PAIR_EARLIER = 0xfffffffeu, /* a call before the step */
	PAIR_LATER = 0xfffffffdu,   /* a call after the step, or not read yet */
	PAIR_LOST = 0xfffffffcu,    /* a call within the step whose record was dropped */
	PAIR_CALLS_END = 0xfffffff0u,
};

/* Fills call_of[n_works] with the call's number in the step or with a pair_answer. */
void pair_match(const struct pair_input *in, uint32_t *call_of);

#endif
