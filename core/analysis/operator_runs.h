/*
 * What each run of an operator launches: how long it takes until its first GPU work begins, and the
 * sequence of all its GPU work. Summed over steps. Each run of an operator is a span (spans.h).
 */
#ifndef CORE_OPERATOR_RUNS_H
#define CORE_OPERATOR_RUNS_H

#include "core/analysis/spans.h"
#include "core/util/map.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

/* The runs of an operator that launched GPU work themselves, not in an operator within them. */
struct operator_delay {
	uint32_t name; /* in the caller's texts */
	uint64_t n_runs;
	/* From the run's begin to that of its first launch, of the n_begun runs whose begin is
	 * known. It is not if stacks show the operators: the begin of a run is then that of its
	 * first call or allocation. */
	uint64_t n_begun, to_launch_ns;
	uint64_t launch_to_work_ns; /* from the begin of that launch to that of its work */
};

/* The runs of an operator that launched the same GPU work in the same order. */
struct operator_sequence {
	uint32_t name;			  /* in the caller's texts */
	uint32_t first_work, n;		  /* in operator_runs.names */
	uint64_t n_runs, gpu_ns, host_ns; /* host_ns: from the begin to the end of the runs */
	uint32_t next;			  /* the sequence before with the same hash, + 1; 0: none */
};

/* All zeros is a valid start. */
struct operator_runs {
	struct map delay_of; /* name -> index in `delays` */
	VEC(struct operator_delay) delays;
	struct map sequence_of; /* hash -> index + 1 of the last sequence with that hash */
	VEC(struct operator_sequence) sequences;
	VEC(uint32_t) names; /* of the work of all sequences, in `names` of the tables */
	uint64_t n_left_out; /* runs whose sequence was new when `names` was full */
	/* for one thread */
	VEC(uint32_t) open, run_of_call, works;
	VEC(uint64_t) n_before;
	VEC(bool) is_outer;
};

enum {
	/* Shorter sequences are no sequences. */
	OPERATOR_SEQUENCE_LEAST = 2,
	/* Limit of operator_runs.names: 256 KB, and some MB in report.json. A compiled region is
	 * one operator with hundreds of kernels. */
	OPERATOR_SEQUENCE_NAMES = 65536,
};

/*
 * Adds the spans of one thread of the step. Adds the names of operators to `texts`. Of operators
 * within each other that launch the same work, only the innermost one has a sequence. Work of
 * graphs does not count if its captured calls are known.
 */
void operator_runs_add(struct operator_runs *r, const struct model_step *m, size_t thread,
		       const struct span_list *spans, struct strtab *texts);
void operator_runs_free(struct operator_runs *r);

#endif
