/*
 * The phases of a step. Each moment of a host lane belongs to one part of one phase, derived from
 * the stacks of the lane's calls. A lane is one thread; autograd's threads belong to the lane that
 * launches most, because the thread that called backward() waits for them.
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
	uint8_t part; /* enum phase_part; different for neighbours */
};

/* A lane's spans cover the step from begin to end, without gaps. */
struct phase_lane {
	uint32_t thread; /* index in the model's threads: the one that launches most */
	size_t first, n; /* in `spans` */
	bool has_phases; /* a phase was found, on better evidence than a copy */
};

/* The copy of a batch onto the device. */
struct phase_batch {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* index in the model's threads */
};

/* All zeros is a valid start; one struct serves all steps of a process. */
struct phases {
	VEC(struct phase_lane) lanes; /* the main one, which launches most, first */
	VEC(struct phase_span) spans;
	VEC(uint8_t) part_of_call; /* by the model's number of the call */
	struct map stack_of;	   /* DICT_STACK -> index in `stacks` */
	VEC(struct phase_stack) stacks;
	VEC(uint32_t) calls; /* of the current lane */
	/* How many of these, at the start, only copy results of the previous
	 * iteration to the host. */
	size_t n_reads;
	VEC(struct phase_batch) batches; /* of all threads */
	uint64_t n_guessed, n_without_stack;
	/* Calls without a stack whose phase cannot be derived from the calls around them. */
	uint64_t n_unresolved;
};

/* `frames` may be NULL: then everything is PHASE_OTHER, except calls of autograd's threads. */
void phases_find(struct phases *p, const struct model_step *m, struct frames *frames);
void phases_free(struct phases *p);

/* ---- Sums over steps ---- */

struct phase_sums {
	uint64_t host_ns[PHASE_PARTS_N]; /* of the main lane */
	uint64_t gpu_ns[PHASE_PARTS_N];	 /* by the phase of the call that caused it, all lanes */
	uint64_t steps_ns, work_ns;	 /* what the two must add up to */
	uint64_t n_calls, n_guessed, n_without_stack, n_unresolved;
	bool has_phases;
};

/* Adds what phases_find() found in the step. */
void phase_sums_add(struct phase_sums *s, const struct phases *p, const struct model_step *m);

/* Returns true if the times of all parts add up to the totals, to the nanosecond. */
bool phase_sums_are_right(const struct phase_sums *s);

#endif
