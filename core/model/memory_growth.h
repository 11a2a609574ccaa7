/* How the memory held at the ends of steps changes, and whether that is a leak. */
#ifndef CORE_MEMORY_GROWTH_H
#define CORE_MEMORY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

enum { GROWTHS_KEPT = 32 };

struct memory_growth {
	uint64_t since; /* steps that had ended before this was tracked */
	int64_t first_bytes, last_bytes;
	uint64_t n_up, n_down;
	uint64_t up[GROWTHS_KEPT];	/* step numbers, every `stride`-th growth */
	int64_t up_bytes[GROWTHS_KEPT]; /* held after these steps */
	uint32_t n_kept, stride;
};

void memory_growth_note(struct memory_growth *g, uint64_t step, int64_t held_bytes);

/* Returns whether it grows again and again, up to the last steps, and hardly ever shrinks. */
bool memory_growth_is_leak(const struct memory_growth *g, uint64_t n_steps);

/* Returns bytes per step. */
double memory_growth_rate(const struct memory_growth *g, uint64_t n_steps);

#endif
