/* Idle time of streams by cause: hta/analyzers/breakdown_analysis.py. */
#include "core/peers/hta_parts.h"

#include "core/peers/numpy.h"

#include <string.h>

/* HTA's default of consecutive_kernel_delay. Its documentation says nanoseconds; it compares
 * microseconds. */
#define SHORT_US 30

enum { HOST_WAIT, KERNEL_WAIT, OTHER, CATEGORIES };

struct work {
	double begin, end, runtime; /* runtime: begin of the call; NAN: none */
	int64_t stream;
};

typedef VEC(struct work) works;

static bool is_work(const char *category)
{
	static const char *const names[] = { "kernel",	   "Kernel", "gpu_memset",     "Memset",
					     "gpu_memcpy", "Memcpy", "mtia_ccp_events" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], category))
			return true;
	return false;
}

static works collect(const struct hta_rank *r)
{
	works found = { 0 };
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		if (!hta_has_stream(e) || !is_work(peer_text(&r->rows, e->category)))
			continue;
		const uint64_t *call =
			e->partner < 0 ? NULL : map_find(&r->by_index, (uint64_t)e->partner);
		vec_push(&found, (struct work){ e->ts, e->ts + e->duration,
						call ? r->events.at[*call].ts : NAN, e->stream });
	}
	return found;
}

static void add_stream(const struct hta_rank *r, struct peer_tables *to, struct peer_table *t,
		       const works *all, int64_t stream)
{
	static const char *const names[] = { "host_wait", "kernel_wait", "other" };
	works list = { 0 };
	VEC(double) begins = { 0 };
	double sums[CATEGORIES] = { 0 }, sum = 0, before = NAN;
	bool is_any[CATEGORIES] = { false };
	for (size_t i = 0; i < all->n; i++)
		if (all->at[i].stream == stream) {
			vec_push(&list, all->at[i]);
			vec_push(&begins, all->at[i].begin);
		}
	size_t *order = mem_resize(NULL, list.n * sizeof(*order));
	numpy_argsort(order, begins.at, list.n);
	for (size_t i = 0; i < list.n; i++) {
		const struct work *w = &list.at[order[i]];
		double gap = w->begin - before;
		int category = w->runtime > before ? HOST_WAIT
			       : gap < SHORT_US	   ? KERNEL_WAIT
						   : OTHER;
		sums[category] += isnan(gap) ? 0 : gap;
		is_any[category] = true;
		before = w->end;
	}
	for (int i = 0; i < CATEGORIES; i++)
		sum += sums[i];
	for (int i = 0; i < CATEGORIES; i++) {
		if (!is_any[i])
			continue;
		peer_number(t, (double)r->rank);
		peer_number(t, (double)stream);
		peer_word(to, t, names[i]);
		peer_number(t, numpy_round(sums[i], 2));
		peer_number(t, numpy_round(sums[i] / sum, 2));
	}
	free(order);
	vec_free(&list);
	vec_free(&begins);
}

void hta_add_idle(const struct hta_job *j)
{
	static const char *const columns[] = { "rank", "stream", "idle_category", "idle_time",
					       "idle_time_ratio" };
	struct peer_table *t = PEER_TABLE(j->to, "idle_time_breakdown", columns);
	for (size_t i = 0; i < j->n; i++) {
		works all = collect(&j->ranks[i]);
		struct map seen = { 0 };
		for (size_t k = 0; k < all.n; k++) {
			bool is_new;
			map_at(&seen, (uint64_t)all.at[k].stream, &is_new);
			if (is_new)
				add_stream(&j->ranks[i], j->to, t, &all, all.at[k].stream);
		}
		map_free(&seen);
		vec_free(&all);
	}
}
