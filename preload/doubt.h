/*
 * When steps that no optimizer ends are looked at again: the program may have evaluated for long first, and be training by now. Each
 * of its evaluation's steps goes on to come, as a part of a training step. A pure function of what it was told; used by the thread that crosses a
 * boundary.
 */
#ifndef PRELOAD_DOUBT_H
#define PRELOAD_DOUBT_H

#include <stdbool.h>
#include <stdint.h>

enum { DOUBT_LEAST = 8 }; /* steps that are looked at */

/* All zeros: steps of a new anchor. */
struct doubt {
	bool is_likely;	  /* that an optimizer ends them: enum step_optimizer; set beforehand */
	uint64_t n_steps; /* since they are known */
	uint64_t
		next; /* of these, the one behind which they are looked at, whatever they are like */
	uint64_t n_looked;    /* that were looked at so far */
	uint64_t usual_ticks; /* the first ones' length, their sum; then the mean */
	unsigned n_usual, n_longer;
	uint32_t n_threads; /* when they were looked at last; 0: no step has ended yet */
};

/* A step ended, having taken `ticks`; by then so many threads had called CUDA. How many of the next ones are to be looked at, 0: none. */
uint64_t doubt_step(struct doubt *d, uint64_t ticks, uint32_t n_threads);

/* They have been, and perhaps some more: `n` in all. 0: only one was, as it was long; nothing changes. */
void doubt_over(struct doubt *d, uint64_t n);

#endif
