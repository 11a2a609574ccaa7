/*
 * Names the step with which the ranks of a job begin their schedule, the same for all (core/runtime/record.h, struct journal_steps): once all
 * that run here know their steps, or have had long enough for it. It lies a little ahead of the foremost, so that each hears
 * of it in time. A rank that knows its steps later takes those of the schedule that are still to come, and no others. Where none knows any, and
 * slices of time stand in, all begin at the same time, whatever the numbers of their slices are.
 *
 * Evaluations may come before the training, in all ranks or in one alone, and be taken for steps. So a rank asks again once it trains, and all
 * begin anew. Its numbers then count other steps than another rank's, and are compared by when the steps are under way.
 */
#ifndef CORE_RANKS_START_H
#define CORE_RANKS_START_H

#include "core/source/process/driver.h"
#include "core/source/process/ranks_apart.h"

struct ranks_start {
	bool is_named;
	bool trains;		       /* steps that an optimizer ends begin */
	uint64_t start;		       /* in the numbers of: */
	size_t leader;		       /* its place in `all` */
	VEC(struct ranks_apart) apart; /* of each one's numbers and the leader's */
	uint64_t
		second; /* where no rank knows steps: of the machine's clock, with which their slices of time begin */
	uint64_t first_ms; /* when the first was seen to wait; 0: none yet */
	double patience_s; /* from then on */
	long n_present;	   /* ranks that knew their steps when it was named, of */
	long n_expected;
};

/* `all`: the run's processes, NULL where one is not open. The folder tells which ranks are left out. */
void ranks_start_serve(struct ranks_start *r, struct driver *const *all, size_t n,
		       const char *folder, uint64_t now_ms);

void ranks_start_free(struct ranks_start *r);

#endif
