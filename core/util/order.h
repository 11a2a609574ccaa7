/* Sorts lists that consist of a few sorted runs. Only for the offline half, not for the preloaded
 * library. */
#ifndef CORE_ORDER_H
#define CORE_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_key {
	uint64_t ns;
	uint32_t index;
};

/* Sorts by `ns`. Keys with the same `ns` keep their order. Merges the sorted runs that are in the
 * list, so the time is proportional to n log(number of runs). */
void order_sort(struct order_key *keys, size_t n);

#endif
