/* Copies texts and places from the analysis into a report. */
#include "export/report_fill_parts.h"

const struct site *fill_site(const struct filler *x, uint32_t site)
{
	return site && x->f->timeline ? frames_site_at(x->f->timeline->frames, site) : NULL;
}

const char *fill_text(struct filler *x, const char *text)
{
	return text && *text ? arena_text(x->arena, text) : "";
}

int64_t fill_line(uint32_t line)
{
	return line ? (int64_t)line : -1;
}

struct report_place fill_place(struct filler *x, uint32_t site)
{
	const struct site *s = fill_site(x, site);
	return s ? (struct report_place){ fill_text(x, s->file), fill_line(s->line),
					  fill_text(x, s->function) }
		 : (struct report_place){ "", -1, "" };
}
