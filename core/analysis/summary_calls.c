/* Sums the CUDA calls by function. */
#include "core/analysis/summary.h"

struct call_sum {
	uint32_t name;
	uint64_t n, ns;
};

struct call_sums {
	struct map place;
	VEC(struct call_sum) at;
};

static struct call_sum *sum_of(struct call_sums *s, uint32_t name)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, name, &is_new);
	if (is_new) {
		*at = s->at.n;
		vec_push(&s->at, (struct call_sum){ .name = name });
	}
	return &s->at.at[*at];
}

static int by_time(const void *a, const void *b)
{
	const struct finding_call *x = a, *y = b;
	if (x->host_ms != y->host_ms)
		return x->host_ms > y->host_ms ? -1 : 1;
	return strcmp(x->name, y->name);
}

void summary_fill_calls(struct findings *f)
{
	const struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).all;
	struct call_sums sums = { 0 };
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		struct call_sum *sum = sum_of(&sums, c->name);
		sum->n++;
		sum->ns += c->end_ns - c->begin_ns;
	}
	for (size_t i = 0; i < sums.at.n; i++) {
		const struct call_sum *s = &sums.at.at[i];
		vec_push(&f->calls,
			 (struct finding_call){ .name = strtab_text(&t->tables->names, s->name),
						.per_step = (double)s->n / steps,
						.host_ms = (double)s->ns / 1e6 / steps });
	}
	if (f->calls.n)
		qsort(f->calls.at, f->calls.n, sizeof(*f->calls.at), by_time);
	vec_free(&sums.at);
	map_free(&sums.place);
}
