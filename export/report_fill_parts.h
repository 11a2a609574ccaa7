/* What the files of report_fill.h share. */
#ifndef EXPORT_REPORT_FILL_PARTS_H
#define EXPORT_REPORT_FILL_PARTS_H

#include "core/analysis/findings.h"
#include "export/report.h"

struct filler {
	const struct findings *f;
	struct arena *arena;
	bool lacks_phases; /* phases were left out: no step was recorded */
};

/* Copies the text; "" for NULL. */
const char *fill_text(struct filler *x, const char *text);
struct report_place fill_place(struct filler *x, uint32_t site);
/* NULL: no site. */
const struct site *fill_site(const struct filler *x, uint32_t site);
/* -1: no line. */
int64_t fill_line(uint32_t line);

void fill_memory(struct filler *x, struct report_process *p);
void fill_self(struct filler *x, struct report_process *p);
void fill_gaps(struct filler *x, struct report_process *p);

#endif
