/* Functions that the report_fill*.c files share. */
#ifndef EXPORT_REPORT_FILL_PARTS_H
#define EXPORT_REPORT_FILL_PARTS_H

#include "core/analysis/findings.h"
#include "export/report.h"

struct filler {
	const struct findings *f;
	struct arena *arena;
	bool lacks_phases; /* phases were left out, because no step was recorded */
};

/* Returns a copy of the text, which x->arena owns. Returns "" for NULL. */
const char *fill_text(struct filler *x, const char *text);
/* Returns the place of a site, or a place that is not known if `site` is 0. */
struct report_place fill_place(struct filler *x, uint32_t site);
/* Returns the site, or NULL if `site` is 0. */
const struct site *fill_site(const struct filler *x, uint32_t site);
/* Returns the line, or -1 if `line` is 0, which means not known. */
int64_t fill_line(uint32_t line);

void fill_delays(struct filler *x, struct report_process *p);
void fill_critical(struct filler *x, struct report_process *p);
void fill_sequences(struct filler *x, struct report_process *p);
void fill_memory(struct filler *x, struct report_process *p);
void fill_self(struct filler *x, struct report_process *p);
void fill_gaps(struct filler *x, struct report_process *p);

#endif
