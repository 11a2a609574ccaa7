/* Finds the bottleneck and the advice, and reports which results are not available. Verdict, advice
 * and savings all come from the replay, so they cannot contradict each other. */
#ifndef CORE_JUDGE_H
#define CORE_JUDGE_H

#include "core/analysis/findings.h"

/*
 * Fills the verdict, evidence, confidence, advice, the lengths and numbers of played steps, the
 * critical path, the savings of syncs, and the times of typical steps; adds to `unavailable`. The
 * summaries must be filled before (summary.h). f->timeline must have frames if its calls have
 * sites.
 */
void replay_fill(struct findings *f);

#endif
