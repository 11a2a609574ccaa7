/* Findings about the whole run, recorded steps or not: step times, memory, startup costs. */
#ifndef CORE_SUMMARY_RUN_H
#define CORE_SUMMARY_RUN_H

#include "core/analysis/findings.h"
#include "core/model/run.h"

/*
 * Fills baseline, warm_up, slow, recorded, recorded_in_warm_up, cost, once, growth,
 * device_peak_bytes and retries; adds to at_peak, leaks and unavailable. Call this after
 * summary_fill() and block_summary_fill().
 */
void summary_fill_run(struct findings *f, const struct run *run);

/* summary_once.c: fills f->once. f->baseline and f->warm_up must be filled before. Texts are stored
 * in the timeline. */
void summary_fill_once(struct findings *f, const struct run *run);

#endif
