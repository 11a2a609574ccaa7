/* report.json in words, for a person who trains a model. Works on what report.json holds and on nothing else. */
#ifndef EXPORT_REPORT_TEXT_H
#define EXPORT_REPORT_TEXT_H

#include "export/textout.h"

#include <jansson.h>

enum { REPORT_SCREEN_LINES = 24, REPORT_TOP = 10 };

/* Which process the first screen is about: the one that other ranks wait for, or whose steps take longest. NULL if no process has any figures. */
const json_t *report_main_process(const json_t *root);

/* In at most `most_lines`: how long a step takes, what binds it, which line costs what, what mending it would win. */
void report_text_screen(struct textout *o, const json_t *root, unsigned most_lines);

/* The first screen and everything below it; `top` rows of each list. */
void report_text_all(struct textout *o, const json_t *root, unsigned top);

#endif
