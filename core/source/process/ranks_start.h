/*
 * Chooses the step with which the ranks of a job begin their schedule, the same for all (struct
 * journal_steps in core/runtime/record.h). It is chosen once all ranks on this machine have
 * detected their steps, or have had enough time for it. It lies a little ahead of the foremost
 * rank, so that each rank reads it in time. A rank that detects its steps later takes only those
 * steps of the schedule that are still to come. If no rank detects steps and time slices replace
 * them, all ranks begin at the same time, whatever the numbers of their slices.
 *
 * Evaluations may come before the training, in all ranks or in one, and be taken for steps. So a
 * rank asks again once it trains, and all start over. Its numbers then differ from the other
 * ranks', and are compared by which steps run at the same moment.
 */
#ifndef CORE_RANKS_START_H
#define CORE_RANKS_START_H

#include "core/source/process/driver.h"
#include "core/source/process/ranks_apart.h"

struct ranks_start {
	bool is_named;	/* the start has been chosen */
	bool trains;	/* it is the start of steps that an optimizer ends */
	uint64_t start; /* in the leader's numbers */
	size_t leader;	/* its index in `all` */
	/* differences between each rank's numbers and the leader's */
	VEC(struct ranks_apart) apart;
	/* if no rank has steps: the second of the machine's clock with which their slices begin */
	uint64_t second;
	uint64_t first_ms; /* when the first rank was seen to wait; 0: none yet */
	double patience_s; /* from then on */
	/* n_present of n_expected ranks had detected their steps when the start was chosen */
	long n_present, n_expected;
};

/*
 * Chooses the start if it is time, and passes it to the ranks that wait. `all`: the run's
 * processes, NULL for one that is not open. `folder` lists the ranks that are left out.
 */
void ranks_start_serve(struct ranks_start *r, struct driver *const *all, size_t n,
		       const char *folder, uint64_t now_ms);

void ranks_start_free(struct ranks_start *r);

#endif
