/* Prints the report as text. */
#ifndef EXPORT_REPORT_TEXT_H
#define EXPORT_REPORT_TEXT_H

#include "export/report.h"
#include "export/textout.h"

enum { REPORT_SCREEN_LINES = 24, REPORT_TOP = 10 };

/* Values of textout.terse. From REPORT_TERSE on: only one piece of advice besides the verdict's,
 * and no lines of CPU time. REPORT_TERSEST, the largest one: no loops around or within the step's.
 */
enum { REPORT_TERSE = 3, REPORT_TERSEST = 4 };

/* Returns the process that the first screen is about: the rank that the others wait for, or the
 * process with the longest steps. NULL if no process has figures. */
const struct report_process *report_main_process(const struct report *r);

/* Prints the first screen in at most `most_lines` lines: step time, bottleneck, utilization,
 * savings, time by line. */
void report_text_screen(struct textout *o, const struct report *r, unsigned most_lines);

/*
 * Prints the first screen and all pages. `top`: largest number of rows of a list. `sort`: heading
 * of a column by which the lists that have it are sorted; NULL: each list keeps its order. Returns
 * false if no list has such a column.
 */
bool report_text_all(struct textout *o, const struct report *r, unsigned top, const char *sort);

#endif
