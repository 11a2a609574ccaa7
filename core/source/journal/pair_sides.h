/*
 * The two sequences that pairing by order compares: calls ordered by start time, and GPU work
 * ordered by correlation id. See pair_order.c.
 */
#ifndef CORE_PAIR_SIDES_H
#define CORE_PAIR_SIDES_H

#include "core/source/journal/pair.h"
#include "core/util/vec.h"

#define PAIR_NO_CALL UINT32_MAX /* no call was found for the group */

/* CUPTI relates the GPU's clock to the CPU's with this precision. */
#define CLOCKS_DIFFER_TICKS 20000

struct caller {
	const struct rec_call *call;
	const struct run_launch *launch; /* set for launches only; NULL: unknown */
	uint64_t end_ticks;
	/*
	 * A wait for the call's work had returned by then, so the work had ended. UINT64_MAX:
	 * unknown.
	 */
	uint64_t deadline_ticks;
	/* hash of what the call asked for, comparable with a group's; 0: not fully known */
	uint32_t symbol;
	uint32_t thread; /* index in the input's threads */
	uint32_t lane;	 /* index in lanes */
	/* if this is one part of a split sequence: the call's index in the whole sequence */
	uint32_t home;
	/*
	 * How many records of this thread's calls were dropped since its previous call. For the
	 * first call after an opening: unrecorded calls of all threads.
	 */
	uint32_t lost;
	uint32_t skipped; /* unrecorded calls with work that this thread made before it */
	/* calls without work that this thread made since its previous call with work */
	uint32_t others;
	/* Set by pair_gaps.c, as sums from the first call to this one. */
	uint32_t expected;	  /* by how much the correlation id should have grown */
	uint32_t n_unknown_steps; /* number of neighbours between which the growth is unknown */
	uint32_t sum_lost;	  /* sum of `lost` */
	/* number of openings up to this call for which the number of unrecorded calls is unknown */
	uint32_t n_unknown_gaps;
	uint8_t category;
	bool is_alone; /* no other call overlaps it in time */
	/* It took its id near its end: see pair_race.c. */
	bool takes_id_late;
	/*
	 * The thread's previous call that could have had GPU work had none, or the record of
	 * that call is missing.
	 */
	bool follows_call_without_work;
	/*
	 * Since the previous call's begin another thread was active in a call without work: see
	 * pair_between.h.
	 */
	bool is_disturbed;
};

/* All GPU work of one call. */
struct group {
	const struct rec_gpu *first;
	uint64_t begin_ticks, end_ticks; /* begin of the earliest work, end of the latest */
	uint32_t order; /* correlation id minus an offset, so that it does not wrap around */
	uint32_t n;
	uint32_t symbol;
	/* its id has grown by another number than usual since the previous group: pair_gaps.c */
	bool is_odd;
	uint32_t at; /* index of its call in `calls`, or PAIR_NO_CALL */
	/* if this is one part of a split sequence: the group's index in the whole sequence */
	uint32_t home;
};

/*
 * A stream as the application names it: a handle in a context since the handle's creation, or a
 * thread's default stream. It corresponds to one CUPTI stream. Which one is learned from the pairs.
 */
struct lane {
	uint64_t id; /* stream_of_work() of the CUPTI stream */
	/*
	 * weight of all pairs, and weight of those that agree with `id` (Boyer-Moore majority vote)
	 */
	uint64_t n, votes;
};

struct sides {
	const struct pair_input *in;
	VEC(struct caller) calls;
	VEC(struct group) groups;
	VEC(struct lane) lanes;
	/*
	 * Calls before the first one were not recorded, though CUPTI was on. Then n_gone and
	 * first_left are used.
	 */
	bool begins_late;
	/* n_gone: see struct pair_input. first_left: index of the first group after gone_id. */
	size_t n_gone, first_left;
	bool knows_streams;
	/* The devices of the launches are those on which the kernels ran. */
	bool knows_devices;
	/*
	 * The sequence is a part of one in which calls of several threads overlapped. Calls on
	 * other streams took ids in between, at random.
	 */
	bool is_from_race;
	/* Most work began late although the GPU was idle, so that proves nothing. */
	bool waits_are_usual;
	uint32_t odd_cost;	      /* cost of an unexpected id; see pair_gaps.h */
	uint64_t clocks_differ_ticks; /* upper limit of the difference between GPU and CPU clock */
};

/* Lists the calls and the groups of `in`, which must outlive `s`. Free with sides_free(). */
void sides_list(struct sides *s, const struct pair_input *in);
void sides_free(struct sides *s);

void sides_forget_pairs(struct sides *s);

/* Returns whether calls of different threads overlapped. */
bool sides_race(const struct sides *s);
void sides_note_alone(struct sides *s);

/*
 * Learns which CUPTI stream corresponds to each lane: the stream on which most of the lane's calls
 * have their work. Returns whether a pair contradicts the result.
 */
bool sides_learn_streams(struct sides *s);

/*
 * Returns a number for a CUPTI stream that is unique in the process. CUPTI numbers the streams of
 * each context separately.
 */
static inline uint64_t stream_of_work(const struct rec_gpu *work)
{
	return (uint64_t)work->context << 40 | (uint64_t)work->device << 32 | work->stream;
}

static inline bool caller_knows_stream(const struct sides *s, const struct caller *c)
{
	return s->knows_streams && s->lanes.at[c->lane].n;
}

#endif
