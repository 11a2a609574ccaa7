/* Cells of the tables of report.html. */
#ifndef EXPORT_HTML_CELL_H
#define EXPORT_HTML_CELL_H

#include "export/html_table.h"

/* Returns whether the row has a value for the column. */
bool html_cell_has(const struct html_column *c, const json_t *row);

/* Writes <td>...</td>. A number's exact value, which the script sorts by and tests compare, is in
 * data-v. `most`: the value of the longest bar; 0: no bar. */
void html_cell_write(const struct html_view *v, const struct html_column *c, const json_t *row,
		     double most);

/* Writes a number's short text, in the column's unit. */
void html_number(struct html_out *o, enum html_cell kind, double value);

/* Writes "train.py:42 main" with the whole path as its title. */
void html_place(const struct html_view *v, const json_t *at);

#endif
