/* Sums up the critical path of the replayed steps: by kind, and by what the links are about. */
#include "core/verdict/judge_parts.h"

#include "core/analysis/host_kinds.h"
#include "core/util/map.h"
#include "core/whatif/critical.h"

struct sums {
	struct findings *f;
	const struct timeline *t;
	uint64_t ns[CRITICAL_KINDS_N];
	struct map rows; /* hash of a row -> 1 + its index in f->critical */
};

static struct finding_critical about_work(const struct timeline *t, const struct critical_link *l)
{
	const struct timeline_work *w = &t->works.at[l->work];
	const struct timeline_call *c = timeline_code(t, w);
	return (struct finding_critical){ .name = strtab_text(&t->tables->names, w->name),
					  .site = timeline_line(t, w),
					  .op = c ? c->op : 0 };
}

/* A link of CPU code is named by what samples show before the call that ends it. */
static struct finding_critical about_call(const struct timeline *t, const struct critical_link *l)
{
	const struct timeline_call *c = &t->calls.at[l->call];
	struct finding_critical row = { .site = c->site, .op = c->op };
	row.name = strtab_text(&t->tables->names, c->name);
	if (l->kind != CRITICAL_CPU)
		return row;
	row.name = c->before_kind == HOST_UNKNOWN ? "" : host_kinds[c->before_kind].noun;
	row.site = c->before_site ? c->before_site : c->site;
	return row;
}

static struct finding_critical *row_of(struct sums *s, const struct critical_link *l)
{
	struct finding_critical row = { .name = "" };
	bool is_new;
	if (l->work != REPLAY_NONE)
		row = about_work(s->t, l);
	else if (l->call != REPLAY_NONE)
		row = about_call(s->t, l);
	row.kind = critical_kinds[l->kind].name;
	/* names are interned, and so are the others */
	uint64_t key = (uint64_t)(uintptr_t)row.name;
	key = (key ^ l->kind) * 0x9E3779B97F4A7C15ull;
	key = ((key ^ key >> 29) + row.site) * 0x9E3779B97F4A7C15ull;
	key = ((key ^ key >> 29) + row.op) * 0x9E3779B97F4A7C15ull;
	uint64_t *index = map_at(&s->rows, key, &is_new);
	if (is_new) {
		vec_push(&s->f->critical, row);
		*index = s->f->critical.n;
	}
	return &s->f->critical.at[*index - 1];
}

/* Adds the parts of a run's links that lie in its steps, which follow each other. */
static void add_run(struct sums *s, const struct critical_path *p, const struct replay_run *run)
{
	const struct timeline_step *steps = &s->t->steps.at[run->first_step],
				   *last = &steps[run->n_steps - 1];
	uint64_t begin_ns = steps->begin_ns, end_ns = last->end_ns;
	for (size_t i = 0; i < p->links.n && p->links.at[i].begin_ns < end_ns; i++) {
		const struct critical_link *l = &p->links.at[i];
		uint64_t from = l->begin_ns > begin_ns ? l->begin_ns : begin_ns,
			 to = l->end_ns < end_ns ? l->end_ns : end_ns;
		struct finding_critical *row = row_of(s, l);
		row->per_step++;
		row->ms += (double)(to - from) / 1e6;
		s->ns[l->kind] += to - from;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct finding_critical *x = a, *y = b;
	return x->ms > y->ms ? -1 : x->ms < y->ms;
}

static int by_kind_time(const void *a, const void *b)
{
	const struct finding_critical_kind *x = a, *y = b;
	return x->ms > y->ms ? -1 : x->ms < y->ms;
}

/* Divides the sums by the number of steps, and sorts the rows. */
static void finish(struct sums *s, double n_steps, double all_ms)
{
	struct findings *f = s->f;
	for (size_t i = 0; i < f->critical.n; i++) {
		f->critical.at[i].per_step /= n_steps;
		f->critical.at[i].pct = f->critical.at[i].ms / all_ms * 100;
		f->critical.at[i].ms /= n_steps;
	}
	for (int kind = 0; kind < CRITICAL_KINDS_N; kind++) {
		double ms = (double)s->ns[kind] / 1e6;
		if (s->ns[kind])
			vec_push(&f->critical_kinds,
				 (struct finding_critical_kind){ critical_kinds[kind].name,
								 ms / n_steps, ms / all_ms * 100 });
	}
	if (f->critical.n)
		qsort(f->critical.at, f->critical.n, sizeof(*f->critical.at), by_time);
	if (f->critical_kinds.n)
		qsort(f->critical_kinds.at, f->critical_kinds.n, sizeof(*f->critical_kinds.at),
		      by_kind_time);
}

void judge_fill_critical(struct findings *f, const struct replay *r)
{
	struct sums s = { .f = f, .t = r->timeline };
	struct critical_path path = { 0 };
	uint64_t all_ns = 0;
	for (size_t i = 0; i < r->runs.n; i++) {
		critical_find(&path, r, i, NULL);
		add_run(&s, &path, &r->runs.at[i]);
	}
	for (int kind = 0; kind < CRITICAL_KINDS_N; kind++)
		all_ns += s.ns[kind];
	if (all_ns)
		finish(&s, r->n_steps, (double)all_ns / 1e6);
	critical_free(&path);
	map_free(&s.rows);
}
