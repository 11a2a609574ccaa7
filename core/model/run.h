/*
 * One process's run, independent of the source it was read from: its tables, stacks, step times,
 * memory, and the overhead of recording. A source fills it while it passes on the recorded steps.
 * Analysis, what-if, verdict and export read it.
 */
#ifndef CORE_RUN_H
#define CORE_RUN_H

#include "core/model/baseline.h"
#include "core/model/cost.h"
#include "core/model/memory.h"
#include "core/model/tables.h"
#include "core/util/sample.h"

struct frames;

/* A call that took long once, mostly at the run's start: it loaded or compiled code, or created a
 * context. */
struct run_once {
	uint64_t ns;	 /* of all n calls */
	uint32_t name;	 /* in tables->names: the API function */
	uint32_t launch; /* index + 1 in tables->launches, 0: none */
	uint32_t stack, n;
	uint8_t category;
};

struct run {
	const struct tables *tables;
	struct frames *frames; /* resolves stacks; NULL: they are not looked up */
	uint32_t pid;
	struct sample step_ms, recorded_step_ms;
	struct baseline baseline; /* the same steps as step_ms, in order */
	struct cost cost;	  /* of recording */
	/* generation of the anchor with which training began; step times count from there; 0: they
	 * count from the first step */
	uint32_t training;
	uint64_t trains_from; /* first step of the training */
	struct memory memory;
	struct allocator allocator; /* a framework's */
	VEC(struct run_once) once;
};

/* Frees what the run owns: everything but `tables` and `frames`. */
void run_free(struct run *r);

#endif
