/* What a run's step lengths say: its warm-up, its usual steps, the few that are much slower. */
#ifndef CORE_STEP_TIMES_H
#define CORE_STEP_TIMES_H

#include "core/analysis/findings.h"
#include "core/model/baseline.h"

/* findings.baseline, warm_up, slow, armed_in_warm_up and, from the armed ones, armed. */
void step_times_fill(struct findings *f, const struct baseline *b, const struct sample *armed);

#endif
