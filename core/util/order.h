/* Sorts lists that consist of sorted runs. Offline half only. */
#ifndef CORE_ORDER_H
#define CORE_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_key {
	uint64_t ns;
	uint32_t index;
};

/* Sorts by `ns`; stable. Merges the ascending runs that it finds: n log(runs). */
void order_sort(struct order_key *keys, size_t n);

#endif
