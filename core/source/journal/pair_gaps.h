/*
 * Learns by how much correlation ids grow from one recorded call to the next. Every API call takes
 * one id, whether or not it is recorded. Between the same two pieces of work a program mostly makes
 * the same calls: in PyTorch's traces, 19 times of 20. So where work is missing, the ids show how
 * many calls lack their work, even if all kernels are alike.
 */
#ifndef CORE_PAIR_GAPS_H
#define CORE_PAIR_GAPS_H

#include "core/source/journal/pair_sides.h"

/* Sets `expected`, `n_unknown_steps` and `sum_lost` of all calls, and `odd_cost`. */
void gaps_learn(struct sides *s);

/*
 * The calls and groups between the pair (from_i, from_j) and the pair (i, j). i: a call; j: a
 * group.
 */
struct gap {
	/*
	 * If no pair is before the gap, from_i is PAIR_START and from_j is the first group that may
	 * belong to these calls.
	 */
	size_t from_i, from_j;
	size_t i, j;
};

#define PAIR_START SIZE_MAX

/*
 * Returns the cost of the gap: for the calls and groups that stay unpaired, for unexpected ids, and
 * if the work after the gap began late. Returns 0 if the gap is empty and ids and times are as
 * expected.
 */
uint32_t gap_cost(const struct sides *s, const struct gap *g);

/* Returns whether most of the work that is paired began late although the GPU was idle, as on a GPU
 * that other processes use. */
bool gaps_have_waits(const struct sides *s);

/* Returns the cost of a gap with this many calls and groups, regardless of ids and times. */
uint32_t gap_length_cost(size_t calls, size_t works);

/*
 * Several unexpected ids in a row show that the program makes other calls there: it copies its
 * parameters at first with allocations between, and later without. If work were missing in each of
 * these places, the calls left over at the end would cost more (COST_ODD_AGAIN + COST_STEP >
 * COST_NUMBERED).
 *
 * Making a gap longer by one call or group (COST_STEP) costs less than half of a new gap. So two
 * calls or groups that agree only by chance do not end a gap.
 */
enum {
	COST_STEP = 48,
	COST_NUMBERED = 96,	/* calls without work, if the growth of the ids fits their number */
	COST_ODD_NUMBER = 97,	/* an unexpected id */
	COST_RARE_NUMBER = 200, /* an unexpected id, if nearly all ids are as expected */
	COST_ODD_AGAIN = 60,	/* an unexpected id right after another one */
	COST_MISSING = 160,	/* calls without work; plus COST_STEP for each call */
	COST_FOREIGN = 160,	/* work without a call; plus COST_STEP for each group */
	COST_WAITED = 41,	/* work that begins late although the GPU was idle */
	/* Work whose calls may have been dropped: no more groups than lost call records. */
	COST_LOST = 8,
	COST_EARLIER = 8, /* work of unrecorded calls, whatever its amount */
	/* COST_STEP counts at most this often: a library makes hundreds of launches of its own */
	FOREIGN_STEPS = 16,
};

#endif
