/* See ranks_meet.h. */
#include "export/ranks_meet.h"

enum {
	AHEAD = 2,	 /* steps added to those that the fastest rank made between the two looks */
	APART_MOST = 20, /* times the fastest rank's steps; ranks further apart do not train
			  * together */
};

uint64_t ranks_meet(const struct rank_look *ranks, size_t n)
{
	uint64_t first = UINT64_MAX, last = 0, fastest = 0;
	size_t n_ranks = 0;
	for (size_t i = 0; i < n; i++) {
		const struct rank_look *r = &ranks[i];
		if (!r->is_one)
			continue;
		n_ranks++;
		first = r->now < first ? r->now : first;
		last = r->now > last ? r->now : last;
		/* ignore a rank whose steps were just learned or renumbered: the number jumps */
		if (r->was_one && r->now > r->then && r->now - r->then > fastest)
			fastest = r->now - r->then;
	}
	if (n_ranks < 2 || last - first > APART_MOST * (fastest + 1))
		return 0;
	return last + AHEAD + fastest;
}
