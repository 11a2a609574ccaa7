/* Chooses lengths of single steps, from which the comparison of two runs draws again and again. */
#ifndef CORE_STEP_LENGTHS_H
#define CORE_STEP_LENGTHS_H

#include "core/analysis/findings.h"
#include "core/model/baseline.h"

/* The interval of 1,000 steps is 3 % of that of one step. More steps make the report larger, and
 * hardly make it narrower. */
enum { STEP_LENGTHS_MOST = 1000 };

/* Fills f->lengths from the steps after the warm-up. step_times_fill() must have filled `f`. */
void step_lengths_fill(struct findings *f, const struct baseline *b);

#endif
