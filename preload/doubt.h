/*
 * Decides when to look again at steps that do not end with an optimizer. The program may have begun
 * with a long evaluation and be training by now. The evaluation's anchor keeps occurring then, as a
 * part of the training step. Depends on its inputs alone. Used only by the thread that crosses a
 * boundary.
 */
#ifndef PRELOAD_DOUBT_H
#define PRELOAD_DOUBT_H

#include <stdbool.h>
#include <stdint.h>

enum { DOUBT_LEAST = 8 }; /* the fewest steps that a look takes */

/* All zeros for a new anchor. */
struct doubt {
	bool is_likely;	      /* an optimizer likely ends the steps (enum step_optimizer); input */
	uint64_t n_steps;     /* steps since the anchor is known */
	uint64_t next;	      /* value of n_steps at which the next look begins in any case */
	uint64_t n_looked;    /* steps looked at so far */
	uint64_t usual_ticks; /* sum of the first USUAL steps' lengths, then their mean */
	unsigned n_usual, n_longer;
	uint32_t n_threads; /* at the last look; 0: no step has ended yet */
};

/*
 * A step of `ticks` ended; `n_threads` threads have called CUDA by now. Returns how many of the
 * next steps to look at, or 0.
 */
uint64_t doubt_step(struct doubt *d, uint64_t ticks, uint32_t n_threads);

/*
 * A look has ended after `n` steps, which may be more than were asked for. 0: the look was at a
 * single long step; nothing changes.
 */
void doubt_over(struct doubt *d, uint64_t n);

#endif
