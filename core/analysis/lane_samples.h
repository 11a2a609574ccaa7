/*
 * The samples of a lane (lanes.h). A lane's threads take turns: while the autograd thread works,
 * the main thread waits for it. So of the samples that were taken at one moment, the one of the
 * thread that works counts, and none counts while a thread of the lane is in a call.
 */
#ifndef CORE_LANE_SAMPLES_H
#define CORE_LANE_SAMPLES_H

#include "core/analysis/host_kinds.h"
#include "core/analysis/lanes.h"

struct lane_sample {
	uint64_t ns;
	/*
	 * The part of the lane's time outside calls that is nearer to this sample than to any other
	 * one. On a busy machine samples are further apart while the CPU works than while it waits,
	 * so samples must not just be counted. The first sample after steps without samples also
	 * stands for these.
	 */
	uint64_t weight_ns;
	uint32_t stack, site; /* 0: unknown */
	/* if the stack is unknown: the sites of the lane's calls before and after; 0: unknown */
	uint32_t after, before;
	uint32_t lane;
	uint8_t kind;	 /* enum host_kind */
	bool fetches;	 /* ABOUT_FETCH: something that may be the next batch */
	bool is_of_step; /* false: taken at the end of the step before */
};

/* What the CPU did in the time before a call, since the lane's call before. */
struct before_call {
	uint32_t site; /* the line that was sampled; 0: unknown */
	uint8_t kind;  /* enum host_kind; HOST_UNKNOWN: no sample was taken there */
};

/* The end of a lane's last call in the step before. */
struct lane_end {
	uint64_t end_ns;
	uint32_t stack, site;
};

/* The newest steps that have no samples of a lane, after one that has. */
struct lane_unsampled {
	bool follows; /* there is such a step; the next steps were all recorded */
	uint64_t ns;  /* the lane's time outside calls in these steps */
};

/* The results for the newest step, and what is kept from step to step. */
struct lane_samples {
	VEC(struct lane_sample) at;	/* by lane, then by time */
	VEC(uint32_t) first;		/* by lane, and one more: index in `at` */
	VEC(struct before_call) before; /* by call, from the step's first call on */
	/* Time in which the sampled lanes were in no call: of the step, and of the steps right
	 * before that had no samples. */
	uint64_t outside_ns;
	size_t n; /* samples of the step */
	/* Of the step before: its number, its lanes' last calls, and the samples after these. The
	 * timeline may not have kept that step. */
	uint64_t number;
	VEC(struct lane_end) ends; /* by lane; end_ns 0: no call */
	VEC(struct lane_sample) tail;
	VEC(struct lane_unsampled) unsampled; /* by lane */
	/* what was sampled between two calls with these stacks: the same is assumed where the next
	 * such time is too short to be sampled */
	struct map known;
	/* the stack and the line of the last running thread whose stack was sampled between two
	 * lines: perf samples less often than the threads' states are read */
	struct map running;
};

void lane_samples_free(struct lane_samples *s);

/* Returns what was sampled, in this step or an earlier one, between two calls with these stacks;
 * HOST_UNKNOWN: nothing. */
struct before_call lane_samples_between(const struct lane_samples *s, uint32_t last, uint32_t next);

/* Finds the samples of the timeline's newest step. */
void lane_samples_find(struct lane_samples *s, const struct timeline *t, const struct lanes *lanes);

#endif
