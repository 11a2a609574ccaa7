/* Finds a run's warm-up, the steps after it, and slow steps, from the lengths of all steps. */
#ifndef CORE_STEP_TIMES_H
#define CORE_STEP_TIMES_H

#include "core/analysis/findings.h"
#include "core/model/baseline.h"

/* Fills f->baseline, warm_up, slow and recorded_in_warm_up from `b`, and f->recorded from
 * `recorded`. Uses f->timeline, which may be NULL. */
void step_times_fill(struct findings *f, const struct baseline *b, const struct sample *recorded);

#endif
