#include "preload/doubt.h"

#include <stdbool.h>

enum {
	/* steps before the first look; steps of a provisional anchor are checked anyway */
	NEXT_FIRST = 512,
	/*
	 * is_likely only means that some work follows each backward pass. This may be an optimizer,
	 * but also the step of an adversarial attack or the saving of a chunk's gradient, with an
	 * optimizer only after every few of those. So the first look comes after NEXT_LIKELY steps
	 * and covers at least LIKELY_LEAST.
	 */
	NEXT_LIKELY = 24,
	LIKELY_LEAST = 24,
	/*
	 * A regular look covers one in LOOK_SHARE of the steps so far. The number of steps doubles
	 * from one look to the next, so the second half of a run has one look.
	 */
	LOOK_SHARE = 64,
	/*
	 * A look also begins if LONGER steps in a row take over 1.5 times the mean of the first
	 * USUAL steps, because a training step takes three times as long as an evaluation step.
	 * Such a look covers one in LONGER_SHARE of the steps so far, at least LONGER_LEAST.
	 */
	USUAL = 32,
	LONGER = 8,
	LONGER_SHARE = 8,
	LONGER_LEAST = 32,
	/*
	 * Longer steps or a new thread need not mean that training has begun: each epoch's data
	 * loader may start a thread. So a look for these reasons begins only if at most one in
	 * LONGER_EVERY of the steps so far was in a look. The new look covers an eighth of the
	 * steps, so at most one step in six is in a look.
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
 * Returns whether more threads have called CUDA than at the last look. This shows the first
 * backward pass, which runs on a thread of its own, however long a step takes.
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
