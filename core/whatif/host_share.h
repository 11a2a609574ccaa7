/*
 * Divides a gap, which is the host time between two calls. In a gap the host first leaves frames of
 * the first call's stack, until only the frames that both stacks share are left. Then it enters the
 * second call's own frames. If a change removes a call, the time for the call's own frames goes,
 * too. The rest of the gap, including the constant part that every gap has, counts as the program's
 * own work between the calls and stays.
 *
 * The cost of a frame is learned from the gaps: a non-negative least-squares fit over all pairs of
 * successive stacks, by the number of Python and native frames left and entered. Gaps in which
 * samples show something else do not count.
 */
#ifndef CORE_HOST_SHARE_H
#define CORE_HOST_SHARE_H

#include "core/util/map.h"
#include "core/whatif/replay.h"

/* Terms of the fit: the constant part of a gap, its Python frames, and its native frames. */
enum host_term { TERM_PAIR, TERM_PYTHON, TERM_NATIVE, TERMS };

struct host_share {
	const struct replay *replay;
	struct map median_ns; /* pair_key() of two stacks -> median gap between their calls */
	/* By enum host_term: the constant part of a gap, the cost of entering a Python frame, and
	 * the cost of entering a native frame. */
	double cost_ns[TERMS];
	bool is_known; /* false: too few pairs of stacks to learn from */
};

/* Parts of a gap: the time to leave the first call's own frames, and the time to enter the second
 * call's own frames. */
struct host_split {
	double out_ns, in_ns;
};

/* Learns the costs from the gaps of `r`, which must outlive `h`. */
void host_share_learn(struct host_share *h, const struct replay *r);
void host_share_free(struct host_share *h);

/* Divides the gap of `gap_ns` between two ops of the replay, which follow each other in their lane.
 * Returns zeros if the costs or a stack are not known. */
struct host_split host_share_of(const struct host_share *h, uint32_t first, uint32_t second,
				double gap_ns);

/* Returns true if only library code ran between the calls of the two ops, and no user code. The gap
 * before an optimizer's first call may count as library code, too. */
bool host_share_is_library(const struct host_share *h, uint32_t first, uint32_t second);

#endif
