/*
 * Reads a finished journal once and keeps in memory what is needed to find its steps: the launches
 * of each thread, the anchors that the library counted with, and which steps the library numbered
 * itself. core/steps/anchors.h then finds the steps without reading the journal again. Takes 16
 * bytes per launch.
 */
#ifndef CORE_LAUNCH_LOG_H
#define CORE_LAUNCH_LOG_H

#include "core/steps/anchors.h"

struct logged_launch {
	uint64_t token; /* see anchor_token() */
	uint64_t ticks; /* begin of the call */
};

struct logged_thread {
	uint32_t slot;
	VEC(struct logged_launch) launches; /* in the order of the calls */
};

/*
 * The steps that the library numbered while one generation of the anchor was valid. Generation 0:
 * steps numbered without an anchor.
 */
struct logged_generation {
	uint32_t generation;
	uint64_t counted_ticks; /* ticks of STEP_COUNTED 1; 0: no such record */
	uint64_t first_ticks;	/* begin of the earliest step; UINT64_MAX: no step */
	/* The highest step number, and when that step began. 0: no step. */
	uint64_t last_number, last_ticks;
	/* the highest number of a step that the library marked before the end of the opening */
	uint64_t last_in_opening;
	/* the library recorded a complete step because the schedule or a request wanted it */
	bool has_wanted;
};

struct launch_log {
	VEC(struct logged_thread) threads;
	struct map thread_of_slot;
	VEC(struct logged_generation) generations;
	anchors anchors;	   /* without the withdrawn ones, oldest first */
	anchor_generations voided; /* generations of withdrawn anchors */
	bool has_triggers;	   /* somebody asked for steps */
	bool has_steps;		   /* the library marked a step after step 0, or recorded step 0 */
	/* The schedule or a request wants the newest step, which is of this generation. */
	bool is_in_wanted;
	uint32_t wanted_generation;
	struct ingest_opening opening; /* only is_any and end_ticks */
	bool has_gpu_work;	       /* the journal has GPU work, or GPU timing was on */
};

/*
 * Receives each call of the journal. Calls of one thread come in order; threads come in any order.
 */
struct launch_log_sink {
	void *context;
	void (*call)(void *context, uint32_t slot, const struct rec_call *call);
	void (*thread)(void *context, uint32_t slot, const struct rec_thread *record);
	/* `record`: a struct rec_node or rec_graph */
	void (*graph)(void *context, uint32_t slot, const struct rec_head *record);
};

/*
 * Reads the journal at `path` from start to end. `sink` may be NULL. Returns 0 or -errno with the
 * reason in `e`. Call launch_log_free() in both cases.
 */
int launch_log_read(struct launch_log *log, const char *path, const struct launch_log_sink *sink,
		    struct err *e);
void launch_log_free(struct launch_log *log);

#endif
