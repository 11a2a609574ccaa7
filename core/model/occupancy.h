/* Limits of a GPU's multiprocessors by compute capability, and how many blocks of a kernel they
 * hold. */
#ifndef CORE_OCCUPANCY_H
#define CORE_OCCUPANCY_H

#include "core/model/model.h"

#include <stdint.h>

/* The limits of one multiprocessor. */
struct occupancy_limits {
	uint8_t major, minor; /* compute capability */
	uint32_t threads, blocks, shared_bytes;
	/* shared memory is allocated in these units; `reserved_bytes`: by the system, per block */
	uint32_t shared_unit_bytes, reserved_bytes;
	uint32_t warps_unit; /* the registers of a block are allocated for a multiple of this many
			      * warps */
};

enum { OCCUPANCY_REGISTERS = 65536, OCCUPANCY_WARP = 32 };

/* Returns the limits of a compute capability; NULL: unknown. */
const struct occupancy_limits *occupancy_limits(uint32_t major, uint32_t minor);

/* Returns how many blocks of a kernel run on one multiprocessor at the same time, at most. */
uint32_t occupancy_blocks(const struct occupancy_limits *l, uint32_t threads, uint32_t registers,
			  uint32_t shared_bytes);

/*
 * Returns the share of a multiprocessor's threads that a kernel can use, in percent, as CUPTI's
 * users estimate it (Kineto: "est. achieved occupancy %"). `blocks_per_sm`: the grid's blocks
 * divided by the number of multiprocessors.
 */
double occupancy_pct(const struct occupancy_limits *l, uint32_t blocks, double blocks_per_sm,
		     uint32_t threads);

/* How a kernel uses its device, as far as its launch tells. NAN: not known. */
struct occupancy {
	double blocks_per_sm; /* the grid's blocks / the device's multiprocessors */
	double pct;	      /* occupancy_pct() */
};

/* NAN if the work is no kernel, or if its launch or the device is not known. */
struct occupancy occupancy_of(const struct tables *t, const struct model_work *w);

#endif
