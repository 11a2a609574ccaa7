/* Fills the startup costs: calls that take long only once, mostly in the first steps, and how much
 * longer the first steps take. */
#include "core/analysis/summary_run.h"

enum {
	/* A call that took long more often than this did so for another reason. */
	TIMES_MOST = 3,
	SHOWN_MS_LEAST = 1,
};

static const char *text_of(struct timeline *t, const struct run_once *c)
{
	char text[256];
	const char *name = strtab_text(&t->tables->names, c->name);
	const struct run_launch *l = c->launch ? &t->tables->launches.at[c->launch - 1] : NULL;
	if (l)
		snprintf(text, sizeof(text), "first launch of %.200s",
			 strtab_text(&t->tables->names, l->name));
	else if (c->category == CAT_CAPTURE)
		snprintf(text, sizeof(text), "graph capture (%.100s)", name);
	else if (strstr(name, "Module") || strstr(name, "Library") || strstr(name, "Kernel"))
		snprintf(text, sizeof(text), "module load (%.100s)", name);
	else
		snprintf(text, sizeof(text), "first call (%.100s)", name);
	return strtab_text(&t->texts, strtab_intern(&t->texts, text));
}

static int by_ms(const void *a, const void *b)
{
	const struct finding_once *x = a, *y = b;
	return x->ms > y->ms ? -1 : x->ms < y->ms;
}

void summary_fill_once(struct findings *f, const struct run *run)
{
	const struct baseline *b = &run->baseline;
	struct timeline *t = f->timeline;
	for (size_t i = 0; i < run->once.n; i++) {
		const struct run_once *c = &run->once.at[i];
		if (c->n > TIMES_MOST)
			continue;
		vec_push(&f->once, (struct finding_once){
					   .what = text_of(t, c),
					   .site = c->stack ? frames_site(t->frames, c->stack) : 0,
					   .ms = (double)c->ns / 1e6,
				   });
	}
	if (f->once.n)
		qsort(f->once.at, f->once.n, sizeof(*f->once.at), by_ms);
	double more_ms = b->first_ms - f->baseline.p50;
	if (f->baseline.n && more_ms >= SHOWN_MS_LEAST)
		vec_push(&f->once,
			 (struct finding_once){ .what = "step 0, time beyond a typical step",
						.ms = more_ms });
	more_ms = (double)f->warm_up.n * (f->warm_up.mean - f->baseline.p50);
	if (f->warm_up.n && more_ms >= SHOWN_MS_LEAST)
		vec_push(&f->once,
			 (struct finding_once){ .what = "warm-up steps, time beyond typical steps",
						.ms = more_ms });
}
