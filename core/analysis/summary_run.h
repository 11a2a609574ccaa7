/* Findings about the whole run, recorded or not: step lengths, memory, startup cost. */
#ifndef CORE_SUMMARY_RUN_H
#define CORE_SUMMARY_RUN_H

#include "core/analysis/findings.h"
#include "core/model/run.h"

/* Call this after summary_fill(). Fills baseline, warm_up, recorded, once, at_peak, leaks,
 * device_peak_bytes and retries. */
void summary_fill_run(struct findings *f, const struct run *run);

/* summary_once.c: fills f->once; needs the baseline. Texts are stored in the timeline. */
void summary_fill_once(struct findings *f, const struct run *run);

#endif
