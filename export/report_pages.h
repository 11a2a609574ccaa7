/* The parts of the text report below its first screen. */
#ifndef EXPORT_REPORT_PAGES_H
#define EXPORT_REPORT_PAGES_H

#include "export/textout.h"

#include <jansson.h>

struct report_view {
	struct textout *out;
	const char *cwd; /* paths below it are shown relative to it */
	unsigned top;	 /* rows of a list */
};

/* Every part that has something to say about process `p`. */
void report_pages(const struct report_view *v, const json_t *p);

#endif
