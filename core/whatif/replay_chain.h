/*
 * Finds what each piece of a graph launch waited for. Branches of a graph run side by side, so the
 * piece before in time may be of another branch.
 */
#ifndef CORE_REPLAY_CHAIN_H
#define CORE_REPLAY_CHAIN_H

#include "core/whatif/replay_trace.h"

enum { CHAIN_BRANCHES = 32 };

/* The pieces of one launch so far, as indices in r->works. Start with replay_chain_start(). */
struct replay_chain {
	uint32_t newest; /* the one that ended last */
	uint32_t n_running, running[CHAIN_BRANCHES];
	/* By stream that captured pieces: the one that ended last. */
	uint32_t n_streams, last[CHAIN_BRANCHES];
};

static inline void replay_chain_start(struct replay_chain *c)
{
	*c = (struct replay_chain){ .newest = REPLAY_NONE };
}

/*
 * Adds the next piece, which is not in r->works yet. Pieces come in the order of their begin. Sets
 * before, own_before, overlaps, after_ns and latency_ns of each piece but the first.
 */
void replay_chain_add(const struct replay_trace *m, struct replay_chain *c,
		      struct replay_work *piece);

#endif
