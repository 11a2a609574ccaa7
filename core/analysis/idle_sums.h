/* Idle time of the recorded steps, summed by device, cause and site. */
#ifndef CORE_IDLE_SUMS_H
#define CORE_IDLE_SUMS_H

#include "core/analysis/idle_causes.h"
#include "core/util/map.h"
#include "core/util/vec.h"

struct idle_step;

struct idle_device {
	uint32_t device;
	uint64_t busy_ns, idle_ns, span_ns;
	uint64_t before_ns; /* the part of busy_ns with work launched before the recorded steps */
};

/* The busy time, and the idle time by cause, of a device in one recorded step. */
struct finding_gpu_step {
	uint32_t device, step; /* `step`: index in the timeline's steps */
	uint64_t busy_ns;
	uint64_t idle_ns[IDLE_CAUSES_N];
};

struct idle_piece {
	uint8_t cause;
	uint32_t device, site, before_site; /* as in struct idle_span */
	uint64_t ns;
};

/* All zeros is empty. */
struct idle_sums {
	VEC(struct idle_device) devices;
	VEC(struct finding_gpu_step) steps; /* one per step and device */
	VEC(struct idle_piece) pieces;	    /* one per device, cause and sites */
	struct map place;		    /* device, cause and sites -> index in `pieces` */
	/* By call of the timeline: GPU idle time, in ns, that the CPU's wait in this
	 * call caused. */
	VEC(uint64_t) of_call;
};

/* Adds the results for a step that is kept. `number`: the step's index in the timeline. `n_calls`:
 * number of calls in the timeline. */
void idle_sums_add(struct idle_sums *s, const struct idle_step *step, uint32_t number,
		   size_t n_calls);
void idle_sums_free(struct idle_sums *s);

/* Checks the sums. Returns a device whose pieces do not add up to its idle time, or whose busy and
 * idle time do not add up to its span; NULL if there is none. */
const struct idle_device *idle_sums_find_wrong(const struct idle_sums *s);

#endif
