/*
 * See step_lengths.h. If there are more steps than are kept, one is chosen at random from each of
 * STEP_LENGTHS_MOST parts of equal size. With a fixed distance, a program that saves its state in
 * every tenth step would show all of these steps or none.
 */
#include "core/analysis/step_lengths.h"

void step_lengths_fill(struct findings *f, const struct baseline *b)
{
	size_t n_warm = (size_t)f->warm_up.n, n = b->ms.n - n_warm, kept = n;
	uint64_t random = 0;
	if (kept > STEP_LENGTHS_MOST)
		kept = STEP_LENGTHS_MOST;
	for (size_t i = 0; i < kept; i++) {
		size_t begin = n * i / kept, end = n * (i + 1) / kept,
		       at = begin + sample_next_random(&random) % (end - begin);
		vec_push(&f->lengths, b->ms.at[n_warm + at]);
	}
}
