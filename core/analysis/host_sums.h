/* The CPU time between CUDA calls, summed by stack and kind over the samples of all kept steps. */
#ifndef CORE_HOST_SUMS_H
#define CORE_HOST_SUMS_H

#include "core/util/map.h"
#include "core/util/vec.h"

#include <stdint.h>

struct host_sum {
	uint32_t stack;		/* 0: unknown */
	uint32_t after, before; /* as in struct lane_sample */
	uint8_t kind;		/* enum host_kind */
	uint64_t n;		/* samples */
	uint64_t ns;		/* their weights (lane_samples.h) */
};

/* All zeros is a valid start. */
struct host_sums {
	struct map place; /* key_of() of a sample -> index in `at` */
	VEC(struct host_sum) at;
	uint64_t n, ns;
	uint64_t outside_ns; /* time in which the sampled lanes were in no call */
};

struct lane_samples;

/* Adds the samples of one step. */
void host_sums_add(struct host_sums *s, const struct lane_samples *samples);
void host_sums_free(struct host_sums *s);

#endif
