/*
 * The phases of a step: each instant of a host lane belongs to one part of one phase, from the stacks of the calls there. A lane is a
 * thread; autograd's threads, for which the thread that called backward() waits, are of the lane that launches most.
 */
#ifndef CORE_PHASES_H
#define CORE_PHASES_H

#include "core/model/model.h"
#include "core/symbols/phase_rules.h"
#include "core/util/map.h"
#include "core/util/vec.h"

struct phase_span {
	uint64_t begin_ns, end_ns;
	uint32_t n_calls;
	uint8_t part; /* enum phase_part; neighbours have different ones */
};

/* Its spans go without a gap from the step's begin to its end. */
struct phase_lane {
	uint32_t thread; /* index in the model's threads: the one that launches most */
	size_t first, n; /* in `spans` */
	bool has_phases; /* something but PHASE_OTHER was found, on better evidence than a copy */
};

/* The copy of a batch onto the device. */
struct phase_batch {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* index in the model's threads */
};

/* All zero is a good start; one is used for step after step of a process. */
struct phases {
	VEC(struct phase_lane) lanes; /* the main one, which launches most, first */
	VEC(struct phase_span) spans;
	VEC(uint8_t) part_of_call; /* by the model's number of the call */
	struct map stack_of;	   /* DICT_STACK -> index in `stacks` */
	VEC(struct phase_stack) stacks;
	VEC(uint32_t) calls; /* of the lane that is gone through */
	size_t n_reads; /* of these the first ones, which only bring what the iteration before has learned to the host */
	VEC(struct phase_batch) batches; /* of all threads */
	uint64_t n_guessed, n_without_stack;
	uint64_t
		n_unresolved; /* of those without a stack: with too few others around to tell them by */
};

/* `frames` may be NULL: then all is PHASE_OTHER but what autograd's threads do. */
void phases_find(struct phases *p, const struct model_step *m, struct frames *frames);
void phases_free(struct phases *p);

/* ---- Sums over steps ---- */

struct phase_sums {
	uint64_t host_ns[PHASE_PARTS_N]; /* of the main lane */
	uint64_t gpu_ns[PHASE_PARTS_N];	 /* by the phase of the call that caused it, all lanes */
	uint64_t steps_ns, work_ns;	 /* what the two must sum up to */
	uint64_t n_calls, n_guessed, n_without_stack, n_unresolved;
	bool has_phases;
};

/* What phases_find found in the step. */
void phase_sums_add(struct phase_sums *s, const struct phases *p, const struct model_step *m);

/* The books balance: to the nanosecond. */
bool phase_sums_are_right(const struct phase_sums *s);

#endif
