/*
 * Classifies the blocks of the recorded steps. The lifetime of each block is followed from step to
 * step. The kind of a block follows from the phases in which it was allocated and freed, see
 * kind_of() in block_kinds.c. The results are the bytes per kind, phase and line at the peak, and
 * the lines that hold more memory with every step.
 */
#ifndef CORE_BLOCK_SUMMARY_H
#define CORE_BLOCK_SUMMARY_H

#include "core/analysis/findings.h"
#include "core/model/run.h"

struct block_life {
	uint64_t address, bytes;
	uint64_t begin_ns, end_ns;
	uint32_t stack;
	/* Indexes in `steps`; made_step may be BLOCK_BEFORE, end_step may be BLOCK_OUTLIVES. */
	uint32_t made_step, end_step;
	uint8_t made_phase, end_phase;
	uint8_t device;
	uint8_t kind; /* enum block_kind, set by block_summary_fill() */
};

#define BLOCK_BEFORE   UINT32_MAX	/* allocated before the window began */
#define BLOCK_OUTLIVES (UINT32_MAX - 1) /* not freed in the window */

struct block_step {
	uint64_t end_ns;
	uint64_t window;
};

/* All zeros is a valid start. */
struct block_summary {
	VEC(struct block_life) lives;
	VEC(struct block_step) steps;
	struct map life_of; /* address of a live block -> index in `lives` */
	/* tid -> phase of the thread's last allocation; PHASES_N: the thread belongs to the
	 * autograd engine. */
	struct map phase_of;
	uint64_t window;
	uint64_t peak_ns, peak_bytes, peak_reserved_bytes;
	uint32_t peak_device;
	uint64_t n_left_out; /* blocks not followed, because there were too many */
};

/* Adds a recorded step and its phases. Steps must be added in order of time. `frames` may be NULL:
 * then phases are derived from the time of an allocation alone. */
void block_summary_add(struct block_summary *l, const struct model_step *m, const struct phases *p,
		       struct frames *frames);

/* Adds the results to `f`: allocator, by_kind, by_phase, at_peak, leaks and unavailable. Call this
 * once, after the last step. */
void block_summary_fill(struct block_summary *l, struct findings *f, const struct run *run);

void block_summary_free(struct block_summary *l);

#endif
