/* See report_page.h. */
#include "export/report_page.h"

#include "export/report_html.h"
#include "export/report_make.h"
#include "export/runfile.h"

#include <stdlib.h>
#include <string.h>

char *report_page_make(const char *folder, bool *is_running)
{
	struct report_made made;
	struct html_out page = { { 0 } };
	struct err e;
	if (report_make(folder, NULL, &made, &e))
		return NULL;
	json_t *runfile = runfile_load(folder);
	report_html(&page, &made.report, runfile);
	*is_running = report_running(&made.report);
	json_decref(runfile);
	report_made_free(&made);
	char *text = strndup(page.text.at, page.text.n);
	html_free(&page);
	return text;
}
