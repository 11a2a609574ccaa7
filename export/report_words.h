/* Parts of the report in words, for the pages of the text report. */
#ifndef EXPORT_REPORT_WORDS_H
#define EXPORT_REPORT_WORDS_H

#include "export/report.h"

#include <math.h>

/* The indent of a line that continues the one above. */
#define REPORT_UNDER "         "

/* 0 where it is not known. */
static inline double report_or_zero(double value)
{
	return isfinite(value) ? value : 0;
}

/*
 * Returns the end of `file` that is enough in a report: below `cwd`, or what follows
 * site-packages/.
 */
const char *report_short_path(const char *file, const char *cwd);

/* "train.py:42", "at::native::copy", "(unknown)". Returns `to`. */
char *report_place(char *to, size_t bytes, const struct report_place *p, const char *cwd);

/*
 * "in trainer.py:1911 Trainer._run_epoch": the library's line under the user's; "" if there is none
 * (NULL). Returns `to`.
 */
char *report_inner(char *to, size_t bytes, const struct report_place *inner);

/* "1.230": three or four significant digits, without the unit. Returns `to`. */
char *report_ms(char *to, size_t bytes, double ms);
/* The same, "-" where it is not known. */
char *report_ms_or_dash(char *to, size_t bytes, double ms);
char *report_bytes(char *to, size_t bytes, double value);
/* "12", "12-14", "12, 15, 18 ...". Returns `to`. */
char *report_numbers(char *to, size_t bytes, const int64_t *at, size_t n);

/* "auto-detected (99 %)", "PROF_STEP=nvtx", "slices of one second". Returns `to`. */
char *report_detector(char *to, size_t bytes, const struct facts_steps *steps);

/*
 * ", mean of all 3 recorded steps", for after "per step", where the verdict refers to some of them
 * only; else "". Returns `to`.
 */
char *report_mean_of(char *to, size_t bytes, const struct report_process *p);

/* The recording overhead; "" where it is not known. Returns `to`. */
char *report_overhead(char *to, size_t bytes, const struct facts_overhead *o);

/*
 * By how much steps after the first window are longer; "" where it is not known or too small to
 * measure. Returns `to`.
 */
char *report_left(char *to, size_t bytes, const struct facts_overhead *o);

/*
 * "ended by signal 11 (Segmentation fault), after step 50 began", of a process and its run (NULL:
 * not known); "" where it did not die. Returns `to`.
 */
char *report_death(char *to, size_t bytes, const struct report_run *run,
		   const struct process_facts *p);

/*
 * "Host-bound" and "kernel launches arrive too slowly" for the verdict "cpu"; "" for an unknown
 * one.
 */
const char *report_verdict_noun(const char *verdict);
const char *report_verdict_words(const char *verdict);
/* The noun, or "unclear". */
const char *report_verdict_or_unclear(const char *verdict);

/*
 * "launch overhead" and "CPU slower than the GPU" for the cause of idle time "launch"; "" for an
 * unknown one.
 */
const char *report_cause_noun(const char *cause);
const char *report_cause_words(const char *cause);

/* "blocking copy" for the kind of synchronization "copy"; "" for an unknown one. */
const char *report_sync_noun(const char *kind);

#endif
