/* Tables of report.html, made from the lists of report.json, so that both have the same figures. */
#ifndef EXPORT_HTML_TABLE_H
#define EXPORT_HTML_TABLE_H

#include "export/html_at.h"
#include "export/html_out.h"
#include "export/report.h"

#include <stdbool.h>

/* How a cell shows its value. Kinds from HTML_NUMBER on are numbers. */
enum html_cell {
	HTML_TEXT,
	HTML_NAME,  /* a name in code */
	HTML_CODE,  /* a line of source */
	HTML_PLACE, /* file, line and function of the row, or of the object `key` */
	HTML_CAUSE, /* an idle cause */
	HTML_CAUSE_MEANING,
	HTML_WAIT, /* the kind of a synchronization */
	HTML_VERDICT,
	HTML_LINK,   /* the kind of a link of the critical path */
	HTML_KERNEL, /* a kernel's name, shortened */
	HTML_TRUTH,
	HTML_KERNELS, /* a list of kernels */
	HTML_NUMBERS, /* a list of integers */
	HTML_STACK,   /* a list of frames */
	HTML_NUMBER,
	HTML_ID, /* a number that is a name: without separators */
	HTML_MS,
	HTML_BAR_MS, /* milliseconds with a bar */
	HTML_PERCENT,
	HTML_BYTES,
};

struct html_column {
	const char *key; /* a member of the row; "a.b": member `b` of the object `a` */
	const char *heading;
	enum html_cell kind;
	const char *meaning; /* shown when the pointer is over the heading; NULL: none */
};

enum { HTML_COLUMNS = 20 };

/* A list of report.json and its columns. A column without any value is left out. */
struct html_list {
	const char *path; /* in a process of report.json, "memory.at_peak" */
	const char *id, *title;
	const char *note;			  /* what the table shows; NULL: nothing to say */
	struct html_column columns[HTML_COLUMNS]; /* up to one without a heading */
};

struct html_view {
	struct html_out *out;
	const json_t *process;		 /* of report.json */
	const struct report_process *of; /* the same process */
	const char *cwd;		 /* paths below it are shown relative to it */
	unsigned number;		 /* of the process in the page, part of its elements' ids */
	bool is_unit; /* the process has no steps: figures are of the whole run */
};

/* Returns "per step", or "in the whole run" if there are no steps. */
const char *html_per_step(const struct html_view *v);

/* Writes which steps the figures are of, "Per step, mean of all 188 recorded steps.", as a note. */
void html_basis(const struct html_view *v);

/* Writes a heading that links point to: <level id="p1-id">. */
void html_heading(const struct html_view *v, const char *level, const char *id, const char *title);

/* Writes the list with its heading, in the size of an <h3>. Writes nothing if the list is empty.
 * Returns the number of rows. */
size_t html_list_write(const struct html_view *v, const struct html_list *list);

/* The same without a heading, for rows that are not a list of the process. */
void html_rows_write(const struct html_view *v, const struct html_list *list, const json_t *rows);

#endif
