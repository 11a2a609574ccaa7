/* Binary search. */
#ifndef CORE_BISECT_H
#define CORE_BISECT_H

#include <stddef.h>

/*
 * Searches `count` sorted items for the first one for which `comes_before` is false. Returns the
 * index of this item, or `count` if there is none. `comes_before` is an expression that uses the
 * index `i`. It must be true for the items up to some index and false for all later ones:
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
