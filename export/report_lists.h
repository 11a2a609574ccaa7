/* Prints lists of the report as tables. */
#ifndef EXPORT_REPORT_LISTS_H
#define EXPORT_REPORT_LISTS_H

#include "export/report_pages.h"

struct report_list;
extern const struct report_list report_list_gpu, report_list_use, report_list_launches,
	report_list_sm, report_list_queues, report_list_delays, report_list_sequences,
	report_list_idle, report_list_syncs, report_list_arithmetic, report_list_shapes,
	report_list_collectives, report_list_lines, report_list_host, report_list_modules,
	report_list_operators, report_list_kernels, report_list_copies, report_list_graphs,
	report_list_graph_steps, report_list_once, report_list_critical_kinds, report_list_critical;
extern const struct report_list report_list_blocks, report_list_by_kind, report_list_by_phase;

/* Prints the title and the first of the `n` items, which are structs of the list's type. Prints
 * nothing for an empty list. */
void report_list_say(const struct report_view *v, const struct report_list *list, const void *items,
		     size_t n, const char *title);

/* Prints an empty line, then the title. */
void report_heading(const struct report_view *v, const char *title);

/* Writes a cell in milliseconds, or "-" if `ms` is not known. */
void report_cell_ms(struct text_table *t, double ms);

#endif
