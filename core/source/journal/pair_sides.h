/*
 * The two sequences that pairing by order compares: calls by start time, GPU work by CUPTI's
 * number. See pair_order.c.
 */
#ifndef CORE_PAIR_SIDES_H
#define CORE_PAIR_SIDES_H

#include "core/source/journal/pair.h"
#include "core/util/vec.h"

#define PAIR_NO_CALL UINT32_MAX /* the group's call is not found */

/* CUPTI relates GPU and host clocks with this precision. */
#define CLOCKS_DIFFER_TICKS 20000

struct caller {
	const struct rec_call *call;
	const struct run_launch *launch; /* of a launch; NULL: unknown */
	uint64_t end_ticks;
	uint64_t deadline_ticks; /* its work had ended by then, because a wait for it returned */
	uint32_t symbol;	 /* what was asked for; 0: not fully known */
	uint32_t thread;	 /* place in the input */
	uint32_t lane;		 /* place in lanes */
	uint32_t home;		 /* place in the whole sequence, if this is part of it */
	/*
	 * Calls of its thread since the previous one whose records were dropped. For the first call
	 * after an opening: unrecorded calls of all threads.
	 */
	uint32_t lost;
	uint32_t skipped; /* unrecorded calls with work of its thread before it */
	uint32_t others;  /* calls of its thread without work since the previous one */
	/* Set by pair_gaps.c; counted from the first call on. */
	uint32_t expected;	  /* by how much CUPTI's number should have grown */
	uint32_t n_unknown_steps; /* neighbours between which that is unknown */
	uint32_t sum_lost;	  /* sum of `lost` */
	/* Openings so far for which the number of unrecorded calls is unknown. */
	uint32_t n_unknown_gaps;
	uint8_t category;
	bool is_alone; /* no other call was active */
	/* Calls without work are between it and its thread's previous call. */
	bool follows_call_without_work;
	/*
	 * Since the previous call's begin another thread was active in a call without work: see
	 * pair_between.h.
	 */
	bool is_disturbed;
};

/* All work of one call. */
struct group {
	const struct rec_gpu *first;
	uint64_t begin_ticks, end_ticks; /* of the earliest; of the last */
	uint32_t order;			 /* correlation, offset so that it does not wrap around */
	uint32_t n;
	uint32_t symbol;
	uint32_t at; /* its call's place among the calls, or PAIR_NO_CALL */
	uint32_t home;
};

/*
 * A stream of the application: a handle on a device, from its creation on, or a thread's default
 * stream. It corresponds to one CUPTI stream, which is learned from the pairs.
 */
struct lane {
	uint32_t id;	   /* stream_of_work() */
	uint64_t n, votes; /* votes: Boyer-Moore majority */
};

struct sides {
	const struct pair_input *in;
	VEC(struct caller) calls;
	VEC(struct group) groups;
	VEC(struct lane) lanes;
	bool begins_late; /* calls before the first were not recorded, though CUPTI was on; then: */
	/* n_gone: see struct pair_input. first_left: the first group after gone_id. */
	size_t n_gone, first_left;
	bool knows_streams;
	bool is_from_race; /* calls of other streams take numbers in between, at random */
	uint32_t odd_cost; /* see pair_gaps.h */
	uint64_t clocks_differ_ticks; /* at most */
};

void sides_list(struct sides *s, const struct pair_input *in);
void sides_free(struct sides *s);

/* Whether calls of several threads overlapped. */
bool sides_race(const struct sides *s);
void sides_note_alone(struct sides *s);

/*
 * Learns which CUPTI stream each lane is, from most of its calls. Returns whether a pair
 * contradicts that.
 */
bool sides_learn_streams(struct sides *s);

/* Returns a number that is unique across devices; each device numbers its own streams. */
static inline uint32_t stream_of_work(const struct rec_gpu *work)
{
	return work->stream ^ (uint32_t)work->device << 24;
}

static inline bool caller_knows_stream(const struct sides *s, const struct caller *c)
{
	return s->knows_streams && s->lanes.at[c->lane].n;
}

#endif
