/*
 * What the blocks of the recorded steps were for. A block's life is followed from step to step; once all are seen its kind follows from
 * the phase in which it was made and the one in which it ended, see kind_of(). Then: how much of each kind, phase and line there was at
 * the moment when most was allocated, and which lines hold more with every step.
 */
#ifndef CORE_BLOCK_SUMMARY_H
#define CORE_BLOCK_SUMMARY_H

#include "core/analysis/findings.h"
#include "core/model/run.h"

struct block_life {
	uint64_t address, bytes;
	uint64_t begin_ns, end_ns;
	uint32_t stack;
	uint32_t made_step, end_step; /* in steps; BLOCK_BEFORE, BLOCK_OUTLIVES */
	uint8_t made_phase, end_phase;
	uint8_t device;
	uint8_t kind; /* enum block_kind, once all is seen */
};

#define BLOCK_BEFORE   UINT32_MAX	/* made before its window of recorded steps */
#define BLOCK_OUTLIVES (UINT32_MAX - 1) /* still there at its end */

struct block_step {
	uint64_t end_ns;
	uint64_t window;
};

/* All zero is a good start. */
struct block_summary {
	VEC(struct block_life) lives;
	VEC(struct block_step) steps;
	struct map life_of; /* address -> index of the live one */
	struct map
		phase_of; /* tid -> in which the thread made a block last; PHASES_N: it is autograd's */
	uint64_t window;
	uint64_t peak_ns, peak_bytes, peak_reserved_bytes;
	uint32_t peak_device;
	uint64_t n_left_out; /* blocks beyond what is kept */
};

/* A recorded step; `phases` as found for it. Steps in order. */
void block_summary_add(struct block_summary *l, const struct model_step *m, const struct phases *p,
		       struct frames *frames);

/* `findings` gets all that was found. */
void block_summary_fill(struct block_summary *l, struct findings *f, const struct run *run);

void block_summary_free(struct block_summary *l);

#endif
