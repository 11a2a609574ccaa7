/* report.json from a report, and a report from report.json. */
#ifndef EXPORT_REPORT_JSON_H
#define EXPORT_REPORT_JSON_H

#include "export/report.h"

#include <jansson.h>

enum { REPORT_SCHEMA = 2 };

extern const struct fields report_process_fields, report_ranks_fields, report_run_fields;

/* New reference. */
json_t *report_to_json(const struct report *r);

/*
 * `r` becomes what the object holds; it needs report_free(). False: it is no report that this
 * version understands, and `r` is empty.
 */
bool report_from_json(struct report *r, const json_t *root);

/*
 * Numbers that JSON has no word for become null; text that is not UTF-8 gets '?' for each byte
 * outside ASCII. New references.
 */
json_t *report_json_number(double value, double unit);
json_t *report_json_text(const char *text);

#endif
