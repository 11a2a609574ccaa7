/* What is known of a whole run, recorded or not: how long its steps took, the memory it holds, what it paid once. */
#ifndef CORE_SUMMARY_RUN_H
#define CORE_SUMMARY_RUN_H

#include "core/analysis/findings.h"
#include "core/model/run.h"

/* After summary_fill(). Fills baseline, warm_up, recorded, once, at_peak, leaks, device_peak_bytes and retries. */
void summary_fill_run(struct findings *f, const struct run *run);

/* summary_once.c: findings.once, after the baseline; texts go to the timeline's. */
void summary_fill_once(struct findings *f, const struct run *run);

#endif
