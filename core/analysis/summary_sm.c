/* How the kernels used the multiprocessors of each device, as far as their launches tell. */
#include "core/analysis/summary.h"

#include <math.h>

/* Work begins or ends on the device. `known`: of the recorded steps. `earlier`: of an earlier step,
 * which may be recorded, too. */
struct change {
	uint64_t ns;
	int32_t share; /* of a kernel, in units of 1 / TIMELINE_SM_WHOLE */
	int32_t known, earlier;
};

struct kernels {
	VEC(struct change) changes;
	double occupancy, occupancy_ns; /* as in summary_work.c */
	bool is_unknown;		/* the share of a kernel is not known */
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->share > y->share) - (x->share < y->share);
}

static void add_earlier(struct kernels *k, const struct timeline *t,
			const struct timeline_earlier *e)
{
	for (size_t i = 0; i < t->steps.n && t->steps.at[i].begin_ns < e->end_ns; i++) {
		const struct timeline_step *step = &t->steps.at[i];
		uint64_t from = e->begin_ns > step->begin_ns ? e->begin_ns : step->begin_ns,
			 to = e->end_ns < step->end_ns ? e->end_ns : step->end_ns;
		if (from >= to || !step->has_gpu)
			continue;
		vec_push(&k->changes, (struct change){ from, 0, 0, 1 });
		vec_push(&k->changes, (struct change){ to, 0, 0, -1 });
	}
}

/* Adds the parts of a work that lie in recorded steps. It begins in its own step or later. */
static void add_work(struct kernels *k, const struct timeline *t, const struct timeline_work *w)
{
	if (w->kind == WORK_KERNEL && !w->sm_share)
		k->is_unknown = true;
	for (size_t i = w->step; i < t->steps.n && t->steps.at[i].begin_ns < w->end_ns; i++) {
		const struct timeline_step *step = &t->steps.at[i];
		uint64_t from = w->begin_ns > step->begin_ns ? w->begin_ns : step->begin_ns,
			 to = w->end_ns < step->end_ns ? w->end_ns : step->end_ns;
		if (from >= to || !step->has_gpu)
			continue;
		vec_push(&k->changes, (struct change){ from, w->sm_share, 1, 0 });
		vec_push(&k->changes, (struct change){ to, -(int32_t)w->sm_share, -1, 0 });
		if (w->occupancy) {
			k->occupancy += (w->occupancy - 1) / 100.0 * (double)(to - from);
			k->occupancy_ns += (double)(to - from);
		}
	}
}

/* Returns the time for which all multiprocessors had blocks; part of them, part of the time. Leaves
 * out the time in which only work of before the recorded steps ran, and stores it in
 * `unknown_ns`. */
static double used_ns(struct kernels *k, uint64_t *unknown_ns)
{
	double ns = 0;
	int64_t share = 0, n_known = 0, n_earlier = 0;
	*unknown_ns = 0;
	if (k->changes.n)
		qsort(k->changes.at, k->changes.n, sizeof(*k->changes.at), by_time);
	for (size_t i = 0; i + 1 < k->changes.n; i++) {
		uint64_t for_ns = k->changes.at[i + 1].ns - k->changes.at[i].ns;
		share += k->changes.at[i].share;
		n_known += k->changes.at[i].known;
		n_earlier += k->changes.at[i].earlier;
		int64_t used = share < TIMELINE_SM_WHOLE ? share : TIMELINE_SM_WHOLE;
		if (n_earlier > 0 && !n_known)
			*unknown_ns += for_ns;
		else
			ns += (double)used / TIMELINE_SM_WHOLE * (double)for_ns;
	}
	return ns;
}

void summary_fill_multiprocessors(struct findings *f)
{
	const struct timeline *t = f->timeline;
	for (size_t i = 0; i < f->gpus.n; i++) {
		struct finding_gpu *g = &f->gpus.at[i];
		struct kernels k = { 0 };
		for (size_t j = 0; j < t->works.n; j++)
			if (t->works.at[j].kind != WORK_SYNC && t->works.at[j].device == g->device)
				add_work(&k, t, &t->works.at[j]);
		for (size_t j = 0; j < t->earlier.n; j++)
			if (t->earlier.at[j].device == g->device)
				add_earlier(&k, t, &t->earlier.at[j]);
		uint64_t unknown_ns;
		double ns = used_ns(&k, &unknown_ns);
		bool is_known = k.changes.n && !k.is_unknown && g->span_ns > unknown_ns;
		g->sm_pct = is_known ? 100 * ns / (double)(g->span_ns - unknown_ns) : NAN;
		g->occupancy_pct = k.occupancy_ns > 0 ? k.occupancy / k.occupancy_ns : NAN;
		vec_free(&k.changes);
	}
}
