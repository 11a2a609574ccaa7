/*
 * Chooses the step with which all ranks of a job begin their schedule (struct journal_steps in
 * core/runtime/record.h). The start is chosen once all ranks on this machine have detected their
 * steps, or have had enough time to do so. It lies a few steps ahead of the foremost rank, so that
 * each rank reads it in time. A rank that detects its steps later records only the steps of the
 * schedule that are still to come. If no rank detects steps, time slices replace the steps. Then
 * all ranks begin at the same time, whatever the numbers of their slices.
 *
 * Some or all ranks may evaluate before they train, and the evaluation's iterations are taken for
 * steps. So a rank asks for a start again once it trains, and a new start is chosen for all ranks.
 * Its step numbers then differ from those of the other ranks. The difference is found by comparing
 * which steps run at the same moment.
 */
#ifndef CORE_RANKS_START_H
#define CORE_RANKS_START_H

#include "core/source/process/driver.h"
#include "core/source/process/ranks_apart.h"

struct ranks_start {
	bool is_named;	/* the start has been chosen */
	bool trains;	/* the start is the first step of the training */
	uint64_t start; /* a step number of the leader, the rank whose numbers are used here */
	size_t leader;	/* the leader's index in `all` */
	/* by index in `all`: the rank's step numbers compared with the leader's */
	VEC(struct ranks_apart) apart;
	/*
	 * If no rank has steps: the second of CLOCK_MONOTONIC in which the slices of the schedule
	 * begin.
	 */
	uint64_t second;
	/* when a rank was first seen waiting, in ms of the caller's clock; 0: none yet */
	uint64_t first_ms;
	double patience_s; /* how long to wait for the other ranks, from first_ms on */
	/* When the start was chosen, n_present of n_expected ranks had detected their steps. */
	long n_present, n_expected;
};

/*
 * Chooses the start if it is time, and writes it to the journals of the ranks that wait for it.
 * `all`: the run's processes; NULL for a process that is not open. `folder`: the run's folder,
 * which lists the ranks that PROF_RANKS excludes.
 */
void ranks_start_serve(struct ranks_start *r, struct driver *const *all, size_t n,
		       const char *folder, uint64_t now_ms);

void ranks_start_free(struct ranks_start *r);

#endif
