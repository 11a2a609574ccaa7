/* What a run's step lengths say: its warm-up, its usual steps, the few that are much slower. */
#ifndef CORE_STEP_TIMES_H
#define CORE_STEP_TIMES_H

#include "core/analysis/findings.h"
#include "core/model/baseline.h"

/* findings.baseline, warm_up, slow, recorded_in_warm_up and, from the recorded ones, recorded. */
void step_times_fill(struct findings *f, const struct baseline *b, const struct sample *recorded);

#endif
