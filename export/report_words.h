/* Writes parts of the report in words, for the text report. */
#ifndef EXPORT_REPORT_WORDS_H
#define EXPORT_REPORT_WORDS_H

#include "export/report.h"

#include <math.h>

/* Indent of a line that continues the line above. */
#define REPORT_UNDER "         "

/* Returns `value`, or 0 if it is not known. */
static inline double report_or_zero(double value)
{
	return isfinite(value) ? value : 0;
}

/* Returns the part of `file` that a report shows: the path relative to `cwd`, or the path after
 * site-packages/. */
const char *report_short_path(const char *file, const char *cwd);

/* Writes "train.py:42", "at::native::copy" or "(unknown)". Returns `to`. */
char *report_place(char *to, size_t bytes, const struct report_place *p, const char *cwd);

enum { REPORT_PLACE_COLUMNS = 40 };

/* Writes the place for a sentence, in at most REPORT_PLACE_COLUMNS. Cuts the head of a longer path,
 * because the file's name and the line are at its end. Returns `to`. */
char *report_place_short(char *to, size_t bytes, const struct report_place *p, const char *cwd);

/* Writes the place of a host row: its line, or "between A and B" if only the CUDA calls before and
 * after are known. */
char *report_host_place(char *to, size_t bytes, const struct report_host *h, const char *cwd);

/* Writes " in FUNCTION (LIBRARY)", the library's function in which a host row's line ran, or "".
 * What blocks a line needs no name. */
char *report_host_native(char *to, size_t bytes, const struct report_host *h);

/* Writes the library's line below the user's line in the stack, "in trainer.py:1911
 * Trainer._run_epoch", or "" if `inner` is NULL. Returns `to`. */
char *report_inner(char *to, size_t bytes, const struct report_place *inner);

/* Writes the user's line that started a library's loop, "called from train.py:42", or "" if `from`
 * is NULL. Returns `to`. */
char *report_called_from(char *to, size_t bytes, const struct report_place *from);

#define REPORT_LEAST_MS 0.0005 /* report_ms() prints less as 0.000 */

/* Writes "1.230": milliseconds with three or four significant digits, without the unit. Returns
 * `to`. */
char *report_ms(char *to, size_t bytes, double ms);
/* Like report_ms(), but writes "-" if `ms` is not known. */
char *report_ms_or_dash(char *to, size_t bytes, double ms);
/* Returns the peak of the device memory, or of what PyTorch's allocator reserved if only that is
 * known (`is_device` false); 0: neither is known. */
int64_t report_peak_bytes(const struct report_memory *m, bool *is_device);
char *report_bytes(char *to, size_t bytes, double value);
/* Writes "12,340". Returns `to`. */
char *report_count(char *to, size_t bytes, int64_t n);
/* Writes ascending numbers as "12", "12-14" or "12-14, 18, 20-21 ...". Returns `to`. */
char *report_numbers(char *to, size_t bytes, const int64_t *at, size_t n);

/* Writes "auto-detected (99 %)", "PROF_STEP=nvtx" or "slices of one second". Returns `to`. */
char *report_detector(char *to, size_t bytes, const struct facts_steps *steps);

/* Returns whether the process has no steps, and the run is reported as one unit. */
bool report_is_unit(const struct report_process *p);

/* Writes ", mean of 3 recorded steps (2 warm-up)", to be printed after "per step", if the
 * verdict refers only to some of these steps; else "". Returns `to`. */
char *report_mean_of(char *to, size_t bytes, const struct report_process *p);

/* Returns whether the measurements show an overhead, rather than none, or that the step time varies
 * too much. */
bool report_overhead_is_measured(const struct facts_overhead *o);

/* Writes the recording overhead, or "" if it is not known. Returns `to`. */
char *report_overhead(char *to, size_t bytes, const struct facts_overhead *o);

/* Writes by how much steps after the first window are longer, or "" if that is not known or too
 * small. Returns `to`. */
char *report_left(char *to, size_t bytes, const struct facts_overhead *o);

/* Writes how the process died, "ended by signal 11 (Segmentation fault), after step 50 began", or
 * "" if it did not die. `run`: NULL if not known. Returns `to`. */
char *report_death(char *to, size_t bytes, const struct report_run *run,
		   const struct process_facts *p);

/* Returns "launch delay" for "launch_delay"; a name that it does not know as it is. */
const char *report_critical_noun(const char *kind);

/* Return "Launch-bound" and "kernel launches arrive too slowly" for the verdict "launch", and ""
 * for the verdicts "unclear" and "unknown". */
const char *report_verdict_noun(const char *verdict);
const char *report_verdict_words(const char *verdict);
/* With less confidence, another resource may limit the job. One recorded step gives up to 0.5
 * (core/verdict/judge.c), so less than this comes from other load or from a replay that is off. */
#define REPORT_DOUBTFUL 0.4
/* Writes the verdict in a few words: "data loading", "data loading?" if it is doubtful, "unclear",
 * or "" if there is none. Returns `to`. */
char *report_limit(char *to, size_t bytes, const struct report_bound *b);
/* Returns the verdict's noun, or "unclear" if it has none. */
const char *report_verdict_or_unclear(const char *verdict);
/* Returns "launch overhead" for the verdict "launch", and "" for an unknown verdict. */
const char *report_resource_noun(const char *verdict);
/* Writes "launch overhead or data loading (launch overhead saves 0.90 to 1.60 ms, data loading 0.80
 * to 1.40)", for the verdict "unclear". Returns `to`. */
char *report_between(char *to, size_t bytes, const struct report_bound *b);

/* Writes "captured 7,213 of 7,413 launches (97.3 %)", or "" if that is not known. Returns `to`. */
char *report_captured(char *to, size_t bytes, const struct facts_completeness *c);

/* Writes how many kernels of CUDA graphs have a captured line, and why others have none; "": there
 * are no such kernels. */
char *report_graph_lines(char *to, size_t bytes, const struct facts_completeness *c);

/* Writes "steps 12-14: 7,213 of 7,413 launches have GPU times: CUPTI dropped ...". Returns `to`. */
char *report_lacking(char *to, size_t bytes, const struct facts_window *w,
		     const struct facts_steps *steps);

/* Return "launch overhead" and "CPU slower than the GPU" for the idle cause "launch", and "" for an
 * unknown cause. */
const char *report_cause_noun(const char *cause);
const char *report_cause_words(const char *cause);

/* Returns "blocking copy" for the synchronization kind "copy", and "" for an unknown kind. */
const char *report_sync_noun(const char *kind);

#endif
