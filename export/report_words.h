/* Reading report.json and saying parts of it, for the pages of the text report. */
#ifndef EXPORT_REPORT_WORDS_H
#define EXPORT_REPORT_WORDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Below the first word of a line, for its further ones. */
#define REPORT_UNDER "         "

/* 0 where there is none. */
double report_number(const json_t *o, const char *name);
bool report_has_number(const json_t *o, const char *name);
/* "" where there is none. */
const char *report_string(const json_t *o, const char *name);

/* A file's name as a person near the run would write it: below `cwd`, or behind site-packages/. A part of `file`. */
const char *report_short_path(const char *file, const char *cwd);

/* "train.py:42", "at::native::copy", "(not known)" of an object with file, line and function. Returns `to`. */
char *report_place(char *to, size_t bytes, const json_t *o, const char *cwd);

/* "in trainer.py:1911 Trainer._run_epoch": the library's line under the user's; "" if there is none. Returns `to`. */
char *report_inner(char *to, size_t bytes, const json_t *o);

/* "1.23 ms" is 1.23 here: three or four digits that count. Returns `to`. */
char *report_ms(char *to, size_t bytes, double ms);
/* The same of a member, "-" where it is not known. */
char *report_ms_of(char *to, size_t bytes, const json_t *o, const char *name);
char *report_bytes(char *to, size_t bytes, double value);
/* "12", "12-14", "12, 15, 18 ..." */
char *report_numbers(char *to, size_t bytes, const json_t *list);

/* ", the mean of all 3 recorded", behind "per step": where what binds is said of some of them alone; else "". Returns `to`. */
char *report_mean_of(char *to, size_t bytes, const json_t *p);

/* What recording cost, of a process's `self`; "" where it is not known. Returns `to`. */
char *report_overhead(char *to, size_t bytes, const json_t *self);

/* By how much steps behind the first window are longer; "" where that is not known, or cannot be seen. Returns `to`. */
char *report_left(char *to, size_t bytes, const json_t *self);

/* "ended by signal 11 (Segmentation fault), after step 50 began", of a process and of the `run` it is of; "" where it did not die.
 * Returns `to`. */
char *report_death(char *to, size_t bytes, const json_t *run, const json_t *p);

/* What a verdict, a cause of idle time or a kind of wait means, in words; "" for one that is not known here. */
const char *report_verdict_noun(const char *verdict);
const char *report_verdict_words(const char *verdict);
const char *report_cause_noun(const char *cause);
const char *report_cause_words(const char *cause);
const char *report_kind_words(const char *kind);

#endif
