/*
 * How the host's time between two calls is shared between them. Behind a call lies the way back up its frames to the code that both have
 * in common, before the next one the way down to it; what a call's own frames take leaves with it when it is removed. What a
 * frame takes is learned from the gaps themselves: a non-negative fit over all pairs of neighbouring stacks of how many Python
 * and native frames are left and entered. Whatever a gap has beyond that, what every gap has included, is the program's own work
 * between the calls and stays.
 */
#ifndef CORE_HOST_SHARE_H
#define CORE_HOST_SHARE_H

#include "core/util/map.h"
#include "core/whatif/replay.h"

enum host_term { TERM_PAIR, TERM_PYTHON, TERM_NATIVE, TERMS };

struct host_share {
	const struct replay *replay;
	struct map median_ns;  /* of the gaps between two stacks */
	double cost_ns[TERMS]; /* of a gap at all, of entering a frame */
	bool is_known;	       /* there were stacks enough to learn from */
};

struct host_split {
	double out_ns, in_ns; /* of the gap: the first call's, the second's */
};

void host_share_learn(struct host_share *h, const struct replay *r);
void host_share_free(struct host_share *h);

/* The calls are ops of the replay, neighbours in their lane; gap_ns is what lay between them. */
struct host_split host_share_of(const struct host_share *h, uint32_t first, uint32_t second,
				double gap_ns);

/* What lay between the two calls is a library's own way from one to the other: no code of the user's ran. */
bool host_share_is_library(const struct host_share *h, uint32_t first, uint32_t second);

#endif
