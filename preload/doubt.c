#include "preload/doubt.h"

#include <stdbool.h>

enum {
	NEXT_FIRST = 512, /* provisional they were looked at before */
	/* what follows each backward pass may be an attack's step, or a chunk's gradient put away: the optimizer comes every few of them */
	NEXT_LIKELY = 24,
	LIKELY_LEAST = 24,
	LOOK_SHARE =
		64, /* one step in so many; each look is as long as all before it, so the second half of a run has one */
	/* so many that are half as long again as the first ones: training takes three times an evaluation's time */
	USUAL = 32,
	LONGER = 8,
	LONGER_SHARE = 8,
	LONGER_LEAST = 32,
	/* that may mean nothing, as a thread may that each epoch's loader brings: such a look waits until those before it are one step in
	 * so many, so that with it, an eighth, they are one in six */
	LONGER_EVERY = 16,
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Whether they have become longer for good. */
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

/* Whether a thread has come since they were looked at: a backward pass's first one brings its own, however long a step takes. */
static bool have_company(struct doubt *d, uint32_t n_threads)
{
	if (!d->n_threads)
		d->n_threads = n_threads;
	return n_threads > d->n_threads;
}

uint64_t doubt_step(struct doubt *d, uint64_t ticks, uint32_t n_threads)
{
	if (!d->next)
		d->next = d->is_likely ? NEXT_LIKELY : NEXT_FIRST;
	bool longer = are_longer(d, ticks), more = have_company(d, n_threads),
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
