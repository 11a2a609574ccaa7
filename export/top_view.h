/* What `profrun top` shows, as lines: a table of running processes, and details of one of them. */
#ifndef EXPORT_TOP_VIEW_H
#define EXPORT_TOP_VIEW_H

#include "export/live.h"
#include "export/terminal.h"

enum top_sort { TOP_BY_RUN, TOP_BY_STEP_MS, TOP_BY_GPU, TOP_BY_STEPS, TOP_BY_DROPS, TOP_SORTS };

struct top_row {
	struct live_process p;
	double still_s; /* how long no step has begun */
};

struct top_view {
	VEC(struct top_row) rows;
	size_t selected; /* index in `rows` */
	enum top_sort sort;
	bool has_blocks;
	const char *message; /* in place of the list of keys; "": none */
};

void top_sort_rows(struct top_view *v);

/* Draws the table, the details of the selected row, and the keys on the last line. */
void top_draw(struct picture *p, const struct top_view *v);

/* Draws the table and the details of all rows, without keys. */
void top_draw_all(struct picture *p, const struct top_view *v);

#endif
