/*
 * Divides the host time between two calls, the gap. After the first call the host returns from its
 * frames to the code that both calls have in common, then it enters the frames of the second one.
 * If a call is removed, the time of its own frames goes with it. The cost of a frame is learned
 * from the gaps themselves: a non-negative fit over all pairs of successive stacks, by the number
 * of Python and native frames left and entered. The rest of a gap, including the constant part of
 * every gap, is the program's own work between the calls and stays.
 */
#ifndef CORE_HOST_SHARE_H
#define CORE_HOST_SHARE_H

#include "core/util/map.h"
#include "core/whatif/replay.h"

enum host_term { TERM_PAIR, TERM_PYTHON, TERM_NATIVE, TERMS };

struct host_share {
	const struct replay *replay;
	struct map median_ns;  /* both stacks -> median gap between them */
	double cost_ns[TERMS]; /* by enum host_term: per gap, per frame entered */
	bool is_known;	       /* there were enough pairs of stacks to learn from */
};

struct host_split {
	/* the parts of the gap that belong to the first and to the second call */
	double out_ns, in_ns;
};

void host_share_learn(struct host_share *h, const struct replay *r);
void host_share_free(struct host_share *h);

/* Divides a gap. The calls are ops of the replay, neighbours in their lane; gap_ns is the time
 * between them. */
struct host_split host_share_of(const struct host_share *h, uint32_t first, uint32_t second,
				double gap_ns);

/* Returns true if only library code ran between the two calls. */
bool host_share_is_library(const struct host_share *h, uint32_t first, uint32_t second);

#endif
