/* Time in which the GPU worked: hta/analyzers/breakdown_analysis.py, communication_analysis.py. */
#include "core/peers/hta_parts.h"

#include "core/peers/numpy.h"

typedef VEC(double) doubles;

hta_intervals hta_merge(const struct hta_rank *r, enum hta_type type)
{
	hta_intervals found = { 0 };
	doubles begins = { 0 };
	VEC(uint32_t) events = { 0 };
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		if (!hta_has_stream(e) || (type != HTA_OTHER && e->type != type))
			continue;
		vec_push(&begins, e->ts);
		vec_push(&events, (uint32_t)i);
	}
	size_t *order = mem_resize(NULL, begins.n * sizeof(*order));
	double last = NAN; /* no comparison with it is true */
	numpy_argsort(order, begins.at, begins.n);
	for (size_t i = 0; i < events.n; i++) {
		const struct hta_event *e = &r->events.at[events.at[order[i]]];
		double end = e->ts + e->duration;
		if (!found.n || e->ts > last)
			vec_push(&found, (struct hta_interval){ e->ts, end });
		struct hta_interval *group = &found.at[found.n - 1];
		group->begin = fmin(group->begin, e->ts);
		group->end = fmax(group->end, end);
		last = fmax(last, end);
	}
	free(order);
	vec_free(&begins);
	vec_free(&events);
	return found;
}

static double length_of(const hta_intervals *list)
{
	double begins = 0, ends = 0;
	for (size_t i = 0; i < list->n; i++) {
		begins += list->at[i].begin;
		ends += list->at[i].end;
	}
	return ends - begins;
}

void hta_add_temporal(const struct hta_job *j)
{
	static const char *const columns[] = { "rank",
					       "idle_time(us)",
					       "compute_time(us)",
					       "non_compute_time(us)",
					       "kernel_time(us)",
					       "idle_time_pctg",
					       "compute_time_pctg",
					       "non_compute_time_pctg" };
	struct peer_table *t = PEER_TABLE(j->to, "temporal_breakdown", columns);
	for (size_t i = 0; i < j->n; i++) {
		hta_intervals all = hta_merge(&j->ranks[i], HTA_OTHER),
			      compute = hta_merge(&j->ranks[i], HTA_COMPUTATION);
		if (all.n) {
			double kernel = all.at[all.n - 1].end - all.at[0].begin,
			       idle = kernel - length_of(&all), busy = length_of(&compute),
			       parts[] = { idle, busy, kernel - busy - idle };
			peer_number(t, (double)j->ranks[i].rank);
			for (size_t k = 0; k < 3; k++)
				peer_number(t, parts[k]);
			peer_number(t, kernel);
			for (size_t k = 0; k < 3; k++)
				peer_number(t, numpy_round(100 * (parts[k] / kernel), 2));
		}
		vec_free(&all);
		vec_free(&compute);
	}
}

/* ---- Sweeps over begins and ends ---- */

struct edges {
	doubles times, changes;
};

/* Appends the begins, then the ends, as DataFrame.melt(). */
static void melt(struct edges *e, const hta_intervals *list, double weight)
{
	for (size_t i = 0; i < list->n; i++) {
		vec_push(&e->times, list->at[i].begin);
		vec_push(&e->changes, weight);
	}
	for (size_t i = 0; i < list->n; i++) {
		vec_push(&e->times, list->at[i].end);
		vec_push(&e->changes, -weight);
	}
}

static void sort_edges(struct edges *e)
{
	struct edges sorted = { 0 };
	size_t *order = mem_resize(NULL, e->times.n * sizeof(*order));
	numpy_argsort(order, e->times.at, e->times.n);
	for (size_t i = 0; i < e->times.n; i++) {
		vec_push(&sorted.times, e->times.at[order[i]]);
		vec_push(&sorted.changes, e->changes.at[order[i]]);
	}
	free(order);
	vec_free(&e->times);
	vec_free(&e->changes);
	*e = sorted;
}

static void free_edges(struct edges *e)
{
	vec_free(&e->times);
	vec_free(&e->changes);
}

static double overlap_of(const struct hta_rank *r)
{
	hta_intervals communication = hta_merge(r, HTA_COMMUNICATION),
		      computation = hta_merge(r, HTA_COMPUTATION);
	struct edges e = { 0 };
	double running = 0, overlap = 0, all = 0;
	melt(&e, &communication, 1);
	melt(&e, &computation, 2);
	sort_edges(&e);
	for (size_t i = 0; i + 1 < e.times.n; i++) {
		running += e.changes.at[i];
		overlap += running == 3 ? e.times.at[i + 1] - e.times.at[i] : 0;
	}
	for (size_t i = 0; i < communication.n; i++)
		all += communication.at[i].end - communication.at[i].begin;
	free_edges(&e);
	vec_free(&communication);
	vec_free(&computation);
	return overlap / all;
}

void hta_add_overlap(const struct hta_job *j)
{
	static const char *const columns[] = { "rank", "comp_comm_overlap_pctg" };
	struct peer_table *t = PEER_TABLE(j->to, "comm_comp_overlap", columns);
	for (size_t i = 0; i < j->n; i++) {
		peer_number(t, (double)j->ranks[i].rank);
		peer_number(t, numpy_round(100 * overlap_of(&j->ranks[i]), 2));
	}
}

/* ---- Time by types that run at once ---- */

enum { COMBINATIONS = 1 << HTA_TYPES };

struct types {
	double sums[COMBINATIONS];
	bool is_any[COMBINATIONS];
};

static void sum_types(const struct hta_rank *r, struct types *to)
{
	struct edges e = { 0 };
	int running = 0;
	for (int type = 0; type < HTA_TYPES; type++) {
		hta_intervals list = hta_merge(r, type);
		melt(&e, &list, 1 << type);
		sort_edges(&e); /* after each type, as HTA: its sort is not stable */
		vec_free(&list);
	}
	for (size_t i = 0; i < e.times.n; i++) {
		running += (int)e.changes.at[i];
		int types = running > 0 ? running & (COMBINATIONS - 1) : 0;
		if (!types || i + 1 == e.times.n)
			continue;
		to->sums[types] += e.times.at[i + 1] - e.times.at[i];
		to->is_any[types] = true;
	}
	free_edges(&e);
}

static void name_types(char *to, size_t bytes, int types)
{
	size_t n = 0;
	for (int type = 0; type < HTA_TYPES; type++)
		if (types & 1 << type)
			n += (size_t)snprintf(to + n, bytes - n, "%s%s", n ? " overlapping " : "",
					      hta_type_names[type]);
}

void hta_add_types(const struct hta_job *j)
{
	static const char *const columns[] = { "kernel_type", "sum", "percentage" };
	/* in the order of their names */
	static const int by_name[] = { 2, 6, 1, 3, 7, 5, 4 };
	struct peer_table *t = PEER_TABLE(j->to, "gpu_kernel_types", columns);
	struct types all = { 0 };
	double sums[COMBINATIONS], sum = 0;
	int types[COMBINATIONS];
	size_t n = 0, order[COMBINATIONS];
	for (size_t i = 0; i < j->n; i++)
		sum_types(&j->ranks[i], &all);
	for (size_t i = 0; i < sizeof(by_name) / sizeof(*by_name); i++)
		if (all.is_any[by_name[i]]) {
			types[n] = by_name[i];
			sums[n++] = all.sums[by_name[i]];
			sum += all.sums[by_name[i]];
		}
	numpy_argsort_descending(order, sums, n);
	for (size_t i = 0; i < n; i++) {
		char name[80];
		name_types(name, sizeof(name), types[order[i]]);
		peer_word(j->to, t, name);
		peer_number(t, sums[order[i]]);
		peer_number(t, numpy_round(sums[order[i]] / sum * 100, 1));
	}
}
