/*
 * Pairing: finds the call that launched each piece of GPU work.
 * - CUPTI's external correlation gives the exact answer: correlation id -> thread slot and seq.
 * - Where there is none, CUPTI's own record of the API call is used. It overlaps the hooked call of
 *   the same thread.
 * - If CUPTI was not asked to record calls, pair_order.h finds what the external correlation would
 *   be.
 *
 * GPU records may come in any order. Work of calls before or after the given calls is distinguished
 * from work whose call is unknown.
 */
#ifndef CORE_PAIR_H
#define CORE_PAIR_H

#include "core/runtime/record.h"
#include "core/source/journal/dict.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thread's calls of a step, in order. `first`: the step-wide number of calls[0]. */
struct pair_thread {
	uint32_t slot, tid, handle; /* CUPTI identifies a thread by `tid` or by `handle` */
	const struct rec_call *calls;
	size_t n_calls;
	uint32_t first;
	uint32_t closed_seq; /* seq of the last call with GPU work before calls[0] */
};

/*
 * A moment at which the library resumed recording calls, while CUPTI had been recording all the
 * time.
 */
struct pair_opening {
	uint64_t ticks;
	/*
	 * True if both hold for the calls that the library skipped just before `ticks`: they took
	 * seq numbers too, and CUPTI recorded the work of all of them.
	 */
	bool is_whole;
};

/* GPU work that was dropped: `n` correlation ids, from `first_id` to `last_id`. */
struct pair_dropped {
	uint32_t first_id, last_id, n;
};

/* A call whose GPU work was dropped. `thread`: index in the threads of the input. */
struct pair_without {
	uint32_t thread;
	uint64_t begin_ticks;
};

typedef VEC(struct pair_without) pair_withouts;

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
	uint64_t begin_ticks, end_ticks; /* begin and end of the step */
	/*
	 * For pair_order.h and pair_first.h: returns whether CUPTI was on when the call was made.
	 */
	bool (*expects_work)(const void *context, const struct rec_call *call);
	const void *context;
	/*
	 * For pair_order.h. `openings` are in ascending order. `is_closed`: calls after the last
	 * given ones were not recorded, though CUPTI was on.
	 */
	const struct pair_opening *openings;
	size_t n_openings;
	bool is_closed;
	/*
	 * About work of earlier calls, which is not in `works`. `gone_id` is the last correlation
	 * id that was paired. After it came `n_gone` ids that were not paired.
	 */
	bool has_gone;
	uint32_t gone_id;
	size_t n_gone;
	/*
	 * For pair_order.h, if the journal was full. `n_gone_calls`: calls that should have GPU
	 * work, recorded or not, that were made after the one with gone_id and are not given.
	 */
	bool was_full;
	bool is_full;			    /* threads may have lost calls after their last one */
	const struct pair_dropped *dropped; /* in any order */
	size_t n_dropped, n_gone_calls;
};

/* Answers for work that no given call launched. All are greater than any call's number. */
enum pair_answer {
	PAIR_UNKNOWN = 0xffffffffu, /* the call is unknown */
	PAIR_EARLIER = 0xfffffffeu, /* the call was made before the step */
	/* the call was made after the step, or its record has not been read yet */
	PAIR_LATER = 0xfffffffdu,
	PAIR_LOST = 0xfffffffcu, /* the call was made within the step, but its record was dropped */
	PAIR_CALLS_END = 0xfffffff0u,
};

/* For each work, sets call_of[] to the number of its call in the step, or to a pair_answer. */
void pair_match(const struct pair_input *in, uint32_t *call_of);

#endif
