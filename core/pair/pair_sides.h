/* The two sequences that pairing by order compares: calls by the time they began, GPU work by CUPTI's number. See pair_order.c. */
#ifndef CORE_PAIR_SIDES_H
#define CORE_PAIR_SIDES_H

#include "core/pair/pair.h"
#include "core/util/vec.h"

#define PAIR_NO_CALL UINT32_MAX /* a group's call is not found */

/* GPU and host clocks are related by CUPTI to within this. */
#define CLOCKS_DIFFER_TICKS 20000

struct caller {
	const struct rec_call *call;
	const struct launch_entry *launch; /* of a launch; NULL: not known */
	uint64_t end_ticks;
	uint64_t deadline_ticks; /* its work had ended by then: a wait for it returned */
	uint32_t symbol;	 /* what was asked for; 0: not said in full */
	uint32_t thread;	 /* place in the input */
	uint32_t lane;		 /* place in lanes */
	uint32_t home;		 /* place in the whole sequence, where this is a part of it */
	uint32_t
		lost; /* calls of its thread between it and the one before whose records were dropped; where calls were recorded anew, all threads' that were not */
	uint32_t skipped; /* calls with work of its thread that were not recorded before it */
	uint32_t others;  /* calls of its thread without work, since the one before */
	/* pair_gaps.c; counted from the first call on */
	uint32_t expected;	  /* by how much CUPTI's number should have grown */
	uint32_t n_unknown_steps; /* between how many neighbours that is not known */
	uint32_t sum_lost;	  /* sum of lost */
	uint32_t
		n_unknown_gaps; /* so often calls had been recorded anew by then, and nothing says how many were not */
	uint8_t category;
	bool is_alone;			/* no other call was under way */
	bool follows_call_without_work; /* calls without work lie between it and its thread's one before */
};

/* All work of one call. */
struct group {
	const struct rec_gpu *first;
	uint64_t begin_ticks, end_ticks; /* of the earliest, of the last */
	uint32_t order; /* correlation, counted from where it does not wrap around */
	uint32_t n;
	uint32_t symbol;
	uint32_t at; /* its call's place among the calls, or PAIR_NOBODY */
	uint32_t home;
};

/*
 * What is one stream to the application: a handle on a device, from its making on; the default stream of a thread. It is one of CUPTI's,
 * which one is learned from pairs.
 */
struct lane {
	uint32_t id;	   /* stream_of_work */
	uint64_t n, votes; /* votes: Boyer and Moore's majority */
};

struct sides {
	const struct pair_input *in;
	VEC(struct caller) calls;
	VEC(struct group) groups;
	VEC(struct lane) lanes;
	bool begins_late; /* calls before the first were not recorded, and CUPTI was on; of work of these calls it is known that... */
	size_t n_gone, first_left; /* ...so many pieces are not here, and the first that is */
	bool knows_streams;
	bool is_from_race;	      /* other streams' calls take numbers in between, at random */
	uint32_t odd_cost;	      /* pair_gaps.h */
	uint64_t clocks_differ_ticks; /* at most */
};

void sides_list(struct sides *s, const struct pair_input *in);
void sides_free(struct sides *s);

/* Whether calls of several threads were under way at once. */
bool sides_race(const struct sides *s);
void sides_note_alone(struct sides *s);

/* Which of CUPTI's streams each lane is, by most of its calls. Whether a pair contradicts that. */
bool sides_learn_streams(struct sides *s);

/* Of all devices: each numbers its own. */
static inline uint32_t stream_of_work(const struct rec_gpu *work)
{
	return work->stream ^ (uint32_t)work->device << 24;
}

static inline bool caller_knows_stream(const struct sides *s, const struct caller *c)
{
	return s->knows_streams && s->lanes.at[c->lane].n;
}

#endif
