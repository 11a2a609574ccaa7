/* Binary search. */
#ifndef CORE_BISECT_H
#define CORE_BISECT_H

#include <stddef.h>

/*
 * Returns the number of the first of `count` sorted items that does not come before the searched
 * one; `count` if all do. `comes_before` is an expression for item number `i`:
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
