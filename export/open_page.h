/* The pages that `profrun open` makes itself. The caller frees the texts. */
#ifndef EXPORT_OPEN_PAGE_H
#define EXPORT_OPEN_PAGE_H

#include "export/served_files.h"

struct open_page {
	const char *title; /* what ran */
	const char *ui;	   /* address of Perfetto's UI, without a slash at its end */
	const char *text;  /* report.txt; "": there is none */
	bool has_html;	   /* there is a report.html */
	struct served_files files;
};

/* The list of the run's files, with links that hand a trace to Perfetto's UI. */
char *open_page_html(const struct open_page *p);

/* The script of that page. */
extern const char open_page_script[];

/* Follow report.html: a link to the list. That of a running job has a link to newer figures, too.
 */
extern const char open_page_link[], open_page_links_running[];

/* Only the page's own script runs, and it may only fetch from this server. */
#define OPEN_PAGE_POLICY                                                                         \
	"default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; " \
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
/* A report is one file that loads nothing. */
#define OPEN_REPORT_POLICY                                                                    \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src " \
	"data:; "                                                                             \
	"font-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

#endif
