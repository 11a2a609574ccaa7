/* Binary search. */
#ifndef CORE_BISECT_H
#define CORE_BISECT_H

#include <stddef.h>

/*
 * Of `count` items in order: the number of the first one that does not come before what is searched, `count` if all do.
 * `comes_before` says so of item number `i`:
 *
 *	size_t first = bisect(v->n, i, v->at[i].begin_ns < ns);
 */
#define bisect(count, i, comes_before)                        \
	({                                                    \
		size_t low_ = 0, high_ = (count);             \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
			if (comes_before)                     \
				low_ = i + 1;                 \
			else                                  \
				high_ = i;                    \
		}                                             \
		low_;                                         \
	})

#endif
