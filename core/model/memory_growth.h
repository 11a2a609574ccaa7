/* Tracks how the memory held at the ends of steps changes, and decides whether it is a leak. */
#ifndef CORE_MEMORY_GROWTH_H
#define CORE_MEMORY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

enum { GROWTHS_KEPT = 32 }; /* most growths kept */

/* Steps are numbered from 1. A growth is a step that ends with more memory held than before. */
struct memory_growth {
	uint64_t since;			 /* number of steps that had ended when tracking began */
	int64_t first_bytes, last_bytes; /* held after step `since`, and after the newest step */
	uint64_t n_up, n_down; /* growths, and steps that ended with less memory held than before */
	uint64_t up[GROWTHS_KEPT];	/* step numbers of the kept growths */
	int64_t up_bytes[GROWTHS_KEPT]; /* held after each of these steps */
	uint32_t n_kept, stride;	/* every `stride`-th growth is kept */
};

/* Adds step number `step`, which ended with `held_bytes` held. A step without change may be left
 * out. */
void memory_growth_note(struct memory_growth *g, uint64_t step, int64_t held_bytes);

/*
 * Returns whether the memory is a leak: it grows again and again, up to the last of `n_steps`
 * steps, and hardly ever shrinks.
 */
bool memory_growth_is_leak(const struct memory_growth *g, uint64_t n_steps);

/* Returns the growth in bytes per step, of `n_steps` steps. */
double memory_growth_rate(const struct memory_growth *g, uint64_t n_steps);

#endif
