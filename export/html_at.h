/* Reads values of report.json by their path. */
#ifndef EXPORT_HTML_AT_H
#define EXPORT_HTML_AT_H

#include <jansson.h>

/* Returns the value at a path such as "memory.at_peak", or NULL. */
const json_t *html_at(const json_t *object, const char *path);
const char *html_text_at(const json_t *object, const char *path); /* "": none */
double html_number_at(const json_t *object, const char *path);	  /* NAN: none */

#endif
