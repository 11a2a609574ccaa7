/* Parts of the report in words, for the pages of the text report. */
#ifndef EXPORT_REPORT_WORDS_H
#define EXPORT_REPORT_WORDS_H

#include "export/report.h"

#include <math.h>

/* Below the first word of a line, for its further ones. */
#define REPORT_UNDER "         "

/* 0 where it is not known. */
static inline double report_or_zero(double value)
{
	return isfinite(value) ? value : 0;
}

/* A file's name as a person near the run would write it: below `cwd`, or behind site-packages/. A part of `file`. */
const char *report_short_path(const char *file, const char *cwd);

/* "train.py:42", "at::native::copy", "(not known)". Returns `to`. */
char *report_place(char *to, size_t bytes, const struct report_place *p, const char *cwd);

/* "in trainer.py:1911 Trainer._run_epoch": the library's line under the user's; "" if there is none (NULL). Returns `to`. */
char *report_inner(char *to, size_t bytes, const struct report_place *inner);

/* "1.23 ms" is 1.23 here: three or four digits that count. Returns `to`. */
char *report_ms(char *to, size_t bytes, double ms);
/* The same, "-" where it is not known. */
char *report_ms_or_dash(char *to, size_t bytes, double ms);
char *report_bytes(char *to, size_t bytes, double value);
/* "12", "12-14", "12, 15, 18 ..." */
char *report_numbers(char *to, size_t bytes, const int64_t *at, size_t n);

/* ", the mean of all 3 recorded", behind "per step": where what binds is said of some of them alone; else "". Returns `to`. */
char *report_mean_of(char *to, size_t bytes, const struct report_process *p);

/* What recording cost; "" where it is not known. Returns `to`. */
char *report_overhead(char *to, size_t bytes, const struct facts_overhead *o);

/* By how much steps behind the first window are longer; "" where that is not known, or cannot be seen. Returns `to`. */
char *report_left(char *to, size_t bytes, const struct facts_overhead *o);

/* "ended by signal 11 (Segmentation fault), after step 50 began", of a process and its run (NULL: not known); "" where it did not die.
 * Returns `to`. */
char *report_death(char *to, size_t bytes, const struct report_run *run,
		   const struct process_facts *p);

/* What a verdict, a cause of idle time or a kind of wait means, in words; "" for one that is not known here. */
const char *report_verdict_noun(const char *verdict);
const char *report_verdict_words(const char *verdict);
const char *report_cause_noun(const char *cause);
const char *report_cause_words(const char *cause);
const char *report_kind_words(const char *kind);

#endif
