/* Finds the bottleneck, the advice, and what is not available. All of it comes from the replay, so
 * that verdict, advice and recoverable times cannot contradict each other. */
#ifndef CORE_JUDGE_H
#define CORE_JUDGE_H

#include "core/analysis/findings.h"

/*
 * Fills measured_ms, replayed_ms and error_pct, the syncs' recoverable_ms and line_ms, verdict,
 * evidence, confidence and advice; adds to unavailable. The summaries (f->syncs) must be filled
 * before. f->timeline must have frames if its calls have sites.
 */
void replay_fill(struct findings *f);

#endif
