/* What the analysis found, as report.json has it (docs/report.md lists the names). */
#ifndef EXPORT_REPORT_JSON_H
#define EXPORT_REPORT_JSON_H

#include "core/analysis/findings.h"

#include <jansson.h>

enum { REPORT_SCHEMA = 2 };

/*
 * One process. `described`: what run.json says of it (process_describe). `f` NULL: nothing was analysed, because no step was
 * recorded. New reference.
 */
json_t *report_json_process(const json_t *described, const struct findings *f);

/* Numbers that JSON has no word for become null; text that is no UTF-8 gets '?' for the bytes that are none. */
json_t *report_json_number(double value, double unit);
json_t *report_json_text(const char *text);

#endif
