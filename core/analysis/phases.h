/*
 * Finds the phases of a step. Each moment of a lane belongs to one part of one phase. The part is
 * derived from the stacks of the lane's calls. Here, a lane is one thread. The main lane is that of
 * the thread with the most launches. The threads of the autograd engine have no lane of their own:
 * their calls belong to the main lane, because the thread that called backward() waits for them.
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
	uint8_t part; /* enum phase_part; neighbours differ */
};

/* A lane. Its spans cover the step from begin to end, without gaps. */
struct phase_lane {
	uint32_t thread; /* index in the model's threads */
	size_t first, n; /* in `spans` */
	bool has_phases; /* evidence for a phase was found, other than a batch's copy */
};

/* The call that copies a batch to the device. */
struct phase_batch {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* index in the model's threads */
};

/* The phases of the newest step. All zeros is a valid start; one struct serves all steps of a
 * process. */
struct phases {
	VEC(struct phase_lane) lanes; /* the main lane comes first */
	VEC(struct phase_span) spans;
	VEC(uint8_t) part_of_call; /* enum phase_part, by call of the model */
	struct map stack_of;	   /* DICT_STACK -> index in `stacks` */
	VEC(struct phase_stack) stacks;
	/* the stacks of two successive calls -> the part that samples showed between them */
	struct map part_between;
	/* the stacks of a sample and of the copy of the batch that follows -> the sample's part */
	struct map part_of_fetch;
	VEC(uint32_t) calls; /* buffer: the calls of the current lane */
	/* Number of the calls at the start of `calls` that only copy results of the previous
	 * iteration to the host. */
	size_t n_reads;
	VEC(struct phase_batch) batches; /* the copies of all threads */
	uint64_t n_guessed, n_without_stack;
	/* Number of calls without a stack whose phase cannot be derived from the calls
	 * around them. */
	uint64_t n_unresolved;
};

/* Finds the phases of a step; replaces the previous results. `frames` may be NULL: then everything
 * is PHASE_OTHER, except for calls of autograd's threads. */
void phases_find(struct phases *p, const struct model_step *m, struct frames *frames);
void phases_free(struct phases *p);

/* ---- Sums over steps ---- */

struct phase_sums {
	uint64_t host_ns[PHASE_PARTS_N]; /* CPU time of the main lane */
	/* GPU time of the work of all lanes, by the part of the call that launched it or, for work
	 * of a graph, that was captured */
	uint64_t gpu_ns[PHASE_PARTS_N];
	uint64_t graph_ns[PHASE_PARTS_N]; /* the part of gpu_ns that CUDA graphs ran */
	/* Totals to check the sums: host_ns must add up to steps_ns, gpu_ns to work_ns. */
	uint64_t steps_ns, work_ns;
	uint64_t n_calls, n_guessed, n_without_stack, n_unresolved;
	bool has_phases;
};

/* Adds the results of phases_find() for a step. `captured`: by captured call of the model, its
 * part; NULL: the step has none. */
void phase_sums_add(struct phase_sums *s, const struct phases *p, const struct model_step *m,
		    const uint8_t *captured);

/* Returns true if host_ns adds up to steps_ns and gpu_ns to work_ns, to the nanosecond. */
bool phase_sums_are_right(const struct phase_sums *s);

#endif
