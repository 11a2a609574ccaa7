/* Converts a report to JSON and back. */
#ifndef EXPORT_REPORT_JSON_H
#define EXPORT_REPORT_JSON_H

#include "export/report.h"

#include <jansson.h>

enum { REPORT_SCHEMA = 2 };

extern const struct fields report_process_fields, report_ranks_fields, report_run_fields;

/* Returns the report as JSON; the caller owns the reference. */
json_t *report_to_json(const struct report *r);

/* Reads a report from JSON. Returns false and an empty report if `root` is not a report that this
 * version understands. The caller calls report_free() in both cases. */
bool report_from_json(struct report *r, const json_t *root);

/*
 * Return a value as JSON; the caller owns the reference. A number that JSON cannot represent
 * becomes null; other numbers are rounded to a multiple of `unit`. In a text that is not UTF-8, '?'
 * replaces each byte outside ASCII.
 */
json_t *report_json_number(double value, double unit);
json_t *report_json_text(const char *text);

#endif
