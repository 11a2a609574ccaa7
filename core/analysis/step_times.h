/* Finds a run's warm-up, the steps after it, slow steps and drift, from the times of all steps. */
#ifndef CORE_STEP_TIMES_H
#define CORE_STEP_TIMES_H

#include "core/analysis/findings.h"
#include "core/model/baseline.h"

/* Steps differ if their time or their work differs by this factor. */
#define STEP_TIMES_APART 1.2

/* Returns work_times of struct findings. `usual`: the median number of launches and copies of a
 * step; 0: not known. */
double step_times_work(const struct timeline *t, double usual);

/* Fills f->baseline, warm_up, slow, pauses, drift and recorded_in_warm_up from `b`, and f->recorded
 * from `recorded`. Uses f->timeline, which may be NULL. */
void step_times_fill(struct findings *f, const struct baseline *b, const struct sample *recorded);

/*
 * Corrects what other load on the machine did to the step times. `lengths_ns`: the lengths of the
 * `n` recorded steps in the replay, in which no thread waits for a CPU, in the order of the steps.
 * If these are most of the run and do not drift, f->drift is removed; f->median_error_ms is that
 * of these lengths, if that is less.
 */
void step_times_without_waits(struct findings *f, const double *lengths_ns, size_t n);

#endif
