/* Putting lists that are sorted already into one order. Offline half only. */
#ifndef CORE_ORDER_H
#define CORE_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_key {
	uint64_t ns;
	uint32_t index;
};

/* By `ns`; equal ones stay as they came. Merges the ascending runs that it finds: n log(runs). */
void order_sort(struct order_key *keys, size_t n);

#endif
