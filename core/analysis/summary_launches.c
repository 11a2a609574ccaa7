/* How long launches take, and when the work that they launch begins. */
#include "core/analysis/summary.h"

struct launches {
	uint32_t name;
	struct sample call_us, delay_us;
	uint64_t n_short;
};

struct launches_list {
	struct map place;
	VEC(struct launches *) at;
};

static struct launches *launches_of(struct launches_list *l, uint32_t name)
{
	bool is_new;
	uint64_t *at = map_at(&l->place, name, &is_new);
	if (is_new) {
		struct launches *one = mem_zero(sizeof(*one));
		one->name = name;
		*at = l->at.n;
		vec_push(&l->at, one);
	}
	return l->at.at[*at];
}

/* The call's first work: the others of a graph depend on it. A work that begins before its call has
 * returned has no delay. */
static void take(struct launches *l, const struct timeline_call *c, const struct timeline_work *w)
{
	uint64_t call_ns = c->end_ns - c->begin_ns;
	sample_add(&l->call_us, (double)call_ns / 1e3);
	sample_add(&l->delay_us,
		   w->begin_ns > c->end_ns ? (double)(w->begin_ns - c->end_ns) / 1e3 : 0);
	l->n_short += w->end_ns - w->begin_ns < call_ns;
}

static const struct timeline_work *first_work(const struct timeline *t,
					      const struct timeline_call *c)
{
	const struct timeline_work *first = NULL;
	for (uint32_t i = 0; i < c->n_work; i++) {
		const struct timeline_work *w = &t->works.at[t->work_of_call.at[c->first_work + i]];
		if (!first || w->begin_ns < first->begin_ns)
			first = w;
	}
	return first;
}

static int by_count(const void *a, const void *b)
{
	const struct finding_launches *x = a, *y = b;
	if (x->per_step != y->per_step)
		return x->per_step > y->per_step ? -1 : 1;
	return strcmp(x->name, y->name);
}

void summary_fill_launches(struct findings *f)
{
	const struct timeline *t = f->timeline;
	double steps = findings_count_steps(t).with_gpu;
	struct launches_list list = { 0 };
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		const struct timeline_work *w = first_work(t, c);
		if (w)
			take(launches_of(&list, c->name), c, w);
	}
	for (size_t i = 0; i < list.at.n; i++) {
		struct launches *l = list.at.at[i];
		double n = (double)l->call_us.n;
		vec_push(&f->launches, (struct finding_launches){
					       .name = strtab_text(&t->tables->names, l->name),
					       .per_step = n / steps,
					       .call_us = sample_summarize(&l->call_us),
					       .delay_us = sample_summarize(&l->delay_us),
					       .short_pct = 100 * (double)l->n_short / n,
				       });
		free(l);
	}
	if (f->launches.n)
		qsort(f->launches.at, f->launches.n, sizeof(*f->launches.at), by_count);
	vec_free(&list.at);
	map_free(&list.place);
}
