#include "preload/doubt.h"

#include <stdbool.h>

enum {
	NEXT_FIRST = 512, /* steps before the first look; provisional ones were looked at anyway */
	/*
	 * "Likely" means that something follows each backward pass. It may be the step of an
	 * adversarial attack or the saving of a chunk's gradient, with an optimizer every few of
	 * those. So the first look comes after NEXT_LIKELY steps and takes at least LIKELY_LEAST.
	 */
	NEXT_LIKELY = 24,
	LIKELY_LEAST = 24,
	/*
	 * A look takes one in LOOK_SHARE of the steps so far. The number of steps doubles from one
	 * look to the next, so the second half of a run has one.
	 */
	LOOK_SHARE = 64,
	/*
	 * LONGER steps in a row that take over 1.5 times the mean of the first USUAL ones are a
	 * reason to look: a training step takes three times as long as an evaluation step. Such a
	 * look takes one in LONGER_SHARE of the steps so far, at least LONGER_LEAST.
	 */
	USUAL = 32,
	LONGER = 8,
	LONGER_SHARE = 8,
	LONGER_LEAST = 32,
	/*
	 * Longer steps may mean nothing, nor may a new thread: each epoch's data loader may start
	 * one. So such a look waits until at most one in LONGER_EVERY steps was looked at. With the
	 * look itself, an eighth of the steps, that makes one in six at most.
	 */
	LONGER_EVERY = 16,
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns whether the last LONGER steps were all longer than usual. */
static bool are_longer(struct doubt *d, uint64_t ticks)
{
	if (d->n_usual < USUAL) {
		d->usual_ticks += ticks;
		if (++d->n_usual == USUAL)
			d->usual_ticks /= USUAL;
		return false;
	}
	d->n_longer = ticks > d->usual_ticks + d->usual_ticks / 2 ? d->n_longer + 1 : 0;
	return d->n_longer >= LONGER;
}

/*
 * Returns whether more threads have called CUDA than at the last look. The first backward pass
 * brings a thread of its own, however long a step takes.
 */
static bool has_new_thread(struct doubt *d, uint32_t n_threads)
{
	if (!d->n_threads)
		d->n_threads = n_threads;
	return n_threads > d->n_threads;
}

uint64_t doubt_step(struct doubt *d, uint64_t ticks, uint32_t n_threads)
{
	if (!d->next)
		d->next = d->is_likely ? NEXT_LIKELY : NEXT_FIRST;
	bool longer = are_longer(d, ticks), more = has_new_thread(d, n_threads),
	     differs = (longer || more) && d->n_looked * LONGER_EVERY <= d->n_steps;
	if (++d->n_steps < d->next && !differs)
		return 0;
	d->n_threads = n_threads;
	return differs ? most(d->n_steps / LONGER_SHARE, LONGER_LEAST)
		       : most(d->n_steps / LOOK_SHARE, d->is_likely ? LIKELY_LEAST : DOUBT_LEAST);
}

void doubt_over(struct doubt *d, uint64_t n)
{
	if (!n)
		return;
	d->n_steps += n;
	d->n_looked += n;
	d->next = most(2 * d->n_steps, LOOK_SHARE * d->n_looked);
	d->n_longer = 0;
}
