/*
 * Finds where the steps of a level begin if other work precedes them (core/steps/levels.h). Runs in
 * the collector.
 */
#include "core/steps/levels_parts.h"

/* A first iteration that is this many times as long as most contains more than the loop's work. */
#define FIRST_LONG 8u

uint32_t levels_begin_of_second(const struct levels_index *x, const struct levels_level *level)
{
	const uint32_t *at = levels_index_of(x, level->reference);
	bool is_long = !level_is_bare(level) && level->iterations > 2 &&
		       at[1] - at[0] > FIRST_LONG * level->calls_per_iteration;
	return is_long ? at[1] : 0;
}

static uint32_t n_optimizers(const struct levels_store *s, const uint32_t *iteration)
{
	uint32_t n = 0;
	for (uint32_t i = iteration[0]; i < iteration[1]; i++)
		n += (s->events[i].hints & LEVEL_OPTIMIZER) != 0;
	return n;
}

static bool has_other_thread(const struct levels_store *s, const uint32_t *iteration)
{
	for (uint32_t i = iteration[0]; i < iteration[1]; i++)
		if (s->events[i].thread != s->events[iteration[0]].thread &&
		    !(s->events[i].hints & LEVEL_COPY))
			return true;
	return false;
}

/*
 * Returns whether `iteration`, which has no optimizer, has no backward pass either. If the last
 * iteration has launches of another thread, the backward pass is on that thread, so this iteration
 * has none if it has no such launches. Else its length decides: it is too short for a backward
 * pass. A step that lacks only the optimizer's launches is not an evaluation: in the first steps,
 * the loss scale may be too high.
 */
static bool lacks_backward(const struct levels_store *s, const uint32_t *iteration,
			   const uint32_t *last, uint32_t calls_per_iteration)
{
	if (has_other_thread(s, last))
		return !has_other_thread(s, iteration);
	return iteration[1] - iteration[0] + n_optimizers(s, last) + CALLS_OF_BACKWARD <=
	       calls_per_iteration;
}

uint32_t levels_begin_after_evaluation(const struct levels_store *s, const struct levels_index *x,
				       const struct levels_level *level)
{
	const uint32_t *at = levels_index_of(x, level->reference);
	uint32_t first = 0, last = level->iterations - 1;
	bool is_evaluation = false;
	if (!level->optimizer)
		return 0;
	for (; first < last && !n_optimizers(s, at + first); first++)
		is_evaluation |=
			lacks_backward(s, at + first, at + last, level->calls_per_iteration);
	return is_evaluation ? at[first] : 0;
}
