/* Copies the critical path into a report. */
#include "export/report_fill_parts.h"

#include "export/report_words.h"

/* Rows that are kept. The longest paths of public traces have 300 rows. */
enum { ROWS_MOST = 500 };

void fill_critical(struct filler *x, struct report_process *p)
{
	const struct findings *f = x->f;
	list_make(x->arena, &p->critical_kinds, f->critical_kinds.n);
	for (size_t i = 0; i < p->critical_kinds.n; i++) {
		const struct finding_critical_kind *from = &f->critical_kinds.at[i];
		p->critical_kinds.at[i] =
			(struct report_critical_kind){ from->kind, report_critical_noun(from->kind),
						       from->ms, from->pct };
	}
	list_make(x->arena, &p->critical, f->critical.n < ROWS_MOST ? f->critical.n : ROWS_MOST);
	for (size_t i = 0; i < p->critical.n; i++) {
		const struct finding_critical *from = &f->critical.at[i];
		p->critical.at[i] = (struct report_critical){
			.kind = from->kind,
			.what = report_critical_noun(from->kind),
			.name = fill_text(x, from->name),
			.op = fill_text(x, strtab_text(&f->timeline->texts, from->op)),
			.place = fill_place(x, from->site),
			.per_step = from->per_step,
			.ms = from->ms,
			.pct = from->pct,
		};
	}
}
