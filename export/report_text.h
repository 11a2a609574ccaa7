/* The report in words, for a person who trains a model. */
#ifndef EXPORT_REPORT_TEXT_H
#define EXPORT_REPORT_TEXT_H

#include "export/report.h"
#include "export/textout.h"

enum { REPORT_SCREEN_LINES = 24, REPORT_TOP = 10 };

/* Which process the first screen is about: the one that other ranks wait for, or whose steps take longest. NULL if no process has any figures. */
const struct report_process *report_main_process(const struct report *r);

/* In at most `most_lines`: how long a step takes, what binds it, which line costs what, what mending it would win. */
void report_text_screen(struct textout *o, const struct report *r, unsigned most_lines);

/* The first screen and everything below it; `top` rows of each list. */
void report_text_all(struct textout *o, const struct report *r, unsigned top);

#endif
