/* The tables of report.html: which lists of report.json it shows, and their columns. */
#ifndef EXPORT_HTML_LISTS_H
#define EXPORT_HTML_LISTS_H

#include "export/html_table.h"

/* Lists of a process, up to one without a path. */
extern const struct html_list html_lists_idle[], html_lists_syncs[], html_lists_memory[],
	html_lists_tables[];
extern const struct html_list html_list_phases, html_list_steps;
/* Not lists of a process: ranks, and the processes of a run without ranks. */
extern const struct html_list html_list_ranks, html_list_processes;

#endif
