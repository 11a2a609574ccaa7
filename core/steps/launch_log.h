/*
 * What a finished journal says about its steps, from one pass over it: the launches of each thread,
 * the anchors that the library counted with, and which steps it numbered itself. Marks of steps are
 * then found in memory (core/steps/anchors.h). Takes 16 bytes per launch.
 */
#ifndef CORE_LAUNCH_LOG_H
#define CORE_LAUNCH_LOG_H

#include "core/steps/anchors.h"

struct logged_launch {
	uint64_t token; /* anchor_token() */
	uint64_t ticks; /* when it began */
};

struct logged_thread {
	uint32_t slot;
	VEC(struct logged_launch) launches; /* in their order */
};

/* The steps that the library numbered with one generation of anchors; generation 0: without. */
struct logged_generation {
	uint32_t generation;
	uint64_t counted_ticks;		  /* of STEP_COUNTED 1; 0: none */
	uint64_t first_ticks;		  /* of the earliest STEP_BEGIN; UINT64_MAX: none */
	uint64_t last_number, last_ticks; /* of the STEP_BEGIN with the highest number; 0: none */
};

struct launch_log {
	VEC(struct logged_thread) threads;
	struct map thread_of_slot;
	VEC(struct logged_generation) generations;
	anchors anchors;	   /* that were not withdrawn, oldest first */
	anchor_generations voided; /* of withdrawn anchors */
	bool has_steps;		   /* the library marked a step after step 0, or recorded step 0 */
	bool has_gpu_work;	   /* the journal has GPU work, or GPU timing was on */
};

/* Takes each call, thread by thread in order. */
struct launch_log_sink {
	void *context;
	void (*call)(void *context, uint32_t slot, const struct rec_call *call);
};

/*
 * Reads the journal at `path` from start to end. `sink` may be NULL. Returns 0 or -errno; free the
 * log in both cases.
 */
int launch_log_read(struct launch_log *log, const char *path, const struct launch_log_sink *sink,
		    struct err *e);
void launch_log_free(struct launch_log *log);

#endif
