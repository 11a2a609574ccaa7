/*
 * One process's run: its tables, stacks, step times, memory, and the overhead of recording. The
 * struct does not depend on the source that the run was read from (core/source). The source fills
 * the struct while it passes on the recorded steps. Analysis, what-if, verdict and export read it.
 */
#ifndef CORE_RUN_H
#define CORE_RUN_H

#include "core/model/baseline.h"
#include "core/model/cost.h"
#include "core/model/memory.h"
#include "core/model/tables.h"
#include "core/util/sample.h"

struct frames;

/*
 * Calls of one function, with the same stack and launch shape, that took unusually long. Most such
 * calls take long only once, at the run's start, because they load or compile code or create a
 * context.
 */
struct run_once {
	uint64_t ns;	   /* sum of the durations of the `n` calls */
	uint32_t name;	   /* in tables->names: the API function */
	uint32_t launch;   /* index + 1 in tables->launches; 0: none */
	uint32_t stack, n; /* `stack` 0: unknown */
	uint8_t category;  /* enum record_category */
};

/*
 * The CUDA call that failed first, after the newest launch that succeeded. Later calls mostly fail
 * because of this one, because most CUDA errors are permanent.
 */
struct run_failure {
	uint64_t ticks;	  /* when the call began; 0: no call failed */
	uint64_t bytes;	  /* of an allocation */
	uint64_t n_steps; /* steps that had ended */
	uint32_t name;	  /* in tables->names: the API function */
	uint32_t stack;	  /* 0: unknown */
	uint16_t status;
	uint8_t category; /* enum record_category */
};

/* The call that began last; `ticks` is 0 if later calls may not have been recorded. */
struct run_last_call {
	uint64_t ticks; /* when it began */
	uint32_t name;	/* in tables->names: the API function */
	uint32_t stack; /* 0: unknown */
};

struct run {
	const struct tables *tables; /* not owned */
	struct frames *frames;	     /* resolves stacks; not owned; NULL: stacks are not resolved */
	uint32_t pid;
	/* times of all steps, and of the recorded steps, in milliseconds */
	struct sample step_ms, recorded_step_ms;
	struct baseline baseline; /* the same steps as step_ms, in order */
	struct cost cost;	  /* overhead of recording */
	/* Generation of the anchor with which training began. Step times of an evaluation before it
	 * were dropped. 0: no times were dropped for this reason. */
	uint32_t training;
	uint64_t trains_from;	    /* number of the first training step, if `training` is not 0 */
	struct memory memory;	    /* memory from the driver */
	struct allocator allocator; /* memory from a framework's allocator */
	VEC(struct run_once) once;  /* startup costs */
	struct run_failure failure;
	struct run_last_call last_call;
};

/* Frees what the run owns: everything but `tables` and `frames`. */
void run_free(struct run *r);

#endif
