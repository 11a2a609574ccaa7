/* report.html of a run whose folder has none: its job still runs, or nothing wrote the page. */
#ifndef EXPORT_REPORT_PAGE_H
#define EXPORT_REPORT_PAGE_H

#include <stdbool.h>

/* Makes the page from what is in the folder now. Returns NULL if it has no readable journal. The
 * caller frees the page. */
char *report_page_make(const char *folder, bool *is_running);

#endif
