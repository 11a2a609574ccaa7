/* What is known of a whole run, recorded or not: how long its steps took, the memory it holds, what it paid once. */
#ifndef CORE_SUMMARY_RUN_H
#define CORE_SUMMARY_RUN_H

#include "core/analysis/findings.h"
#include "core/model/ingest.h"

/* After summary_fill(). Fills baseline, warm_up, recorded, once, at_peak, leaks, device_peak_bytes and retries. */
void summary_fill_run(struct findings *f, const struct ingest *ingest);

/* summary_once.c: findings.once, after the baseline; texts go to the timeline's. */
void summary_fill_once(struct findings *f, const struct once *o, const struct timebase *time,
		       const struct baseline *b);

#endif
