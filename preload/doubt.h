/*
 * Decides when the collector checks again whether the detected steps are the right ones. This
 * concerns steps that no optimizer ends: the program may have begun with a long evaluation and may
 * be training by now. The evaluation's anchor still occurs then, as a part of the training step.
 * Such a check is called a look. During a look, launches are journaled and the collector searches
 * for steps that an optimizer ends. Results depend only on the arguments. Only the thread that
 * crosses a step boundary calls these functions.
 */
#ifndef PRELOAD_DOUBT_H
#define PRELOAD_DOUBT_H

#include <stdbool.h>
#include <stdint.h>

enum { DOUBT_LEAST = 8 }; /* the fewest steps that a look covers */

/*
 * The state since the anchor was adopted. The caller sets is_likely then, and all other fields to
 * 0.
 */
struct doubt {
	bool is_likely;	      /* an optimizer probably ends the steps: STEP_OPTIMIZER_LIKELY */
	uint64_t n_steps;     /* steps since the anchor was adopted */
	uint64_t next;	      /* the next look begins at this value of n_steps at the latest */
	uint64_t n_looked;    /* number of steps that were in a look */
	uint64_t usual_ticks; /* sum of the first USUAL (doubt.c) steps' lengths, then their mean */
	unsigned n_usual, n_longer; /* steps in usual_ticks; longer steps in a row */
	/* threads that had called CUDA at the last look; 0: no step has ended yet */
	uint32_t n_threads;
};

/*
 * Called when a step has ended that took `ticks`. `n_threads` threads have called CUDA so far.
 * Returns how many of the next steps a look is to cover, or 0 for no look.
 */
uint64_t doubt_step(struct doubt *d, uint64_t ticks, uint32_t n_threads);

/*
 * Called when a look has ended. `n` steps have ended during the look, which may be more than
 * doubt_step() returned. If `n` is 0, nothing changes.
 */
void doubt_over(struct doubt *d, uint64_t n);

#endif
