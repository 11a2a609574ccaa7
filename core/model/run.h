/*
 * What is known of one process's run, whatever it was read from: its tables, stacks, step times,
 * memory, and what recording cost. A source fills it while it hands over the recorded steps;
 * analysis, what-if, verdict and export read it.
 */
#ifndef CORE_RUN_H
#define CORE_RUN_H

#include "core/model/baseline.h"
#include "core/model/cost.h"
#include "core/model/memory.h"
#include "core/model/tables.h"
#include "core/util/sample.h"

struct frames;

/* A call that took long in the run's beginning: code was loaded or compiled, a context made. */
struct run_once {
	uint64_t ns;	 /* of all n calls */
	uint32_t name;	 /* in tables->names: the API function */
	uint32_t launch; /* index + 1 in tables->launches, 0: none */
	uint32_t stack, n;
	uint8_t category;
};

struct run {
	const struct tables *tables;
	struct frames *frames; /* what stacks mean; NULL: they are not looked up */
	uint32_t pid;
	struct sample step_ms, recorded_step_ms;
	struct baseline baseline; /* the same steps as step_ms, in order */
	struct cost cost;	  /* of recording */
	uint32_t
		training; /* which of the program's loops the figures are of; 0: all steps are alike */
	uint64_t trains_from; /* the first step of it */
	struct memory memory;
	struct allocator allocator; /* a framework's */
	VEC(struct run_once) once;
};

/* Frees what the run owns: all but `tables` and `frames`. */
void run_free(struct run *r);

#endif
