/* Length of the streams' queues, and bandwidth of copies: hta/analyzers/trace_counters.py. */
#include "core/peers/hta_parts.h"

#include "core/peers/numpy.h"

#include <string.h>

enum { FULL = 1024 }; /* HTA's default of max_queue_length */

typedef VEC(double) doubles;

void hta_put_summary(struct peer_table *t, const struct pandas_summary *s)
{
	const double values[] = { s->count, s->mean,	       s->std, s->min, s->quarter,
				  s->half,  s->three_quarters, s->max };
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		peer_number(t, values[i]);
}

/* ---- Queues ---- */

/* A call that launches work (+1), or the begin of the work (-1). */
struct change {
	double ts;
	int64_t stream;
	int change;
};

typedef VEC(struct change) changes;

/* get_runtime_launch_events_mask() */
static bool is_launch(const char *name)
{
	static const char *const names[] = { "cudaMemsetAsync",
					     "cudaMemcpyAsync",
					     "cudaLaunchKernel",
					     "cudaLaunchKernelExC",
					     "cuLaunchKernel",
					     "cuLaunchKernelEx",
					     "runFunction - job_prep_and_submit_for_execution",
					     "hipLaunchKernel",
					     "hipExtModuleLaunchKernel",
					     "hipMemcpyAsync",
					     "hipMemsetAsync",
					     "hipMemcpyWithStream" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Adds the calls, once for each work with their correlation. */
static void add_calls(const struct hta_rank *r, changes *to, struct map *launched)
{
	struct map first = { 0 };				/* correlation -> first work + 1 */
	uint64_t *next = mem_zero(r->events.n * sizeof(*next)); /* the same, of the next one */
	for (size_t i = r->events.n; i-- > 0;) {
		const struct hta_event *e = &r->events.at[i];
		if (!hta_has_stream(e))
			continue;
		uint64_t *at = map_at(&first, (uint64_t)e->correlation, NULL);
		next[i] = *at;
		*at = i + 1;
	}
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		if (e->partner <= 0 || !is_launch(hta_name(r, e)))
			continue;
		map_at(launched, (uint64_t)e->correlation, NULL);
		const uint64_t *at = map_find(&first, (uint64_t)e->correlation);
		for (uint64_t work = at ? *at : 0; work; work = next[work - 1])
			vec_push(to, (struct change){ e->ts, r->events.at[work - 1].stream, 1 });
	}
	free(next);
	map_free(&first);
}

/* Returns the changes in the order of time. None if HTA gives up: if the numbers of calls and of
 * works differ. */
static changes find_changes(const struct hta_rank *r)
{
	changes all = { 0 }, sorted = { 0 };
	struct map launched = { 0 };
	doubles times = { 0 };
	add_calls(r, &all, &launched);
	size_t n_calls = all.n;
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		if (hta_has_stream(e) && map_find(&launched, (uint64_t)e->correlation))
			vec_push(&all, (struct change){ e->ts, e->stream, -1 });
	}
	if (all.n == 2 * n_calls) {
		for (size_t i = 0; i < all.n; i++)
			vec_push(&times, all.at[i].ts);
		size_t *order = mem_resize(NULL, all.n * sizeof(*order));
		numpy_argsort(order, times.at, all.n);
		for (size_t i = 0; i < all.n; i++)
			vec_push(&sorted, all.at[order[i]]);
		free(order);
	}
	vec_free(&all);
	vec_free(&times);
	map_free(&launched);
	return sorted;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

typedef VEC(int64_t) numbers;

static numbers streams_of(const changes *c)
{
	struct map seen = { 0 };
	numbers found = { 0 };
	for (size_t i = 0; i < c->n; i++) {
		bool is_new;
		map_at(&seen, (uint64_t)c->at[i].stream, &is_new);
		if (is_new)
			vec_push(&found, c->at[i].stream);
	}
	if (found.n)
		qsort(found.at, found.n, sizeof(*found.at), by_number);
	map_free(&seen);
	return found;
}

static double trace_duration(const struct hta_rank *r)
{
	double first = INFINITY, last = -INFINITY;
	for (size_t i = 0; i < r->events.n; i++) {
		first = fmin(first, r->events.at[i].ts);
		last = fmax(last, r->events.at[i].ts);
	}
	return last - first;
}

/* Adds the summary of a stream. Returns for how long its queue was full; NAN: never. */
static double add_stream(const struct hta_rank *r, struct peer_table *t, const changes *c,
			 int64_t stream)
{
	doubles lengths = { 0 }, times = { 0 };
	double length = 0, full = NAN;
	for (size_t i = 0; i < c->n; i++) {
		if (c->at[i].stream != stream)
			continue;
		length += c->at[i].change;
		vec_push(&lengths, length);
		vec_push(&times, c->at[i].ts);
	}
	struct pandas_summary s = pandas_describe(lengths.at, lengths.n);
	peer_number(t, (double)r->rank);
	peer_number(t, (double)stream);
	hta_put_summary(t, &s);
	for (size_t i = 0; i < lengths.n; i++)
		if (lengths.at[i] >= FULL)
			full = (isnan(full) ? 0 : full) +
			       (i + 1 < times.n ? times.at[i + 1] - times.at[i] : 0);
	vec_free(&lengths);
	vec_free(&times);
	return full;
}

void hta_add_queues(const struct hta_job *j)
{
	static const char *const columns[] = { "rank", "stream", "count", "mean", "std",
					       "min",  "25%",	 "50%",	  "75%",  "max" },
				 *const full_columns[] = { "rank", "stream",
							   "duration_at_max_queue_length",
							   "relative_duration_at_max_queue_"
							   "length" };
	struct peer_table *t = PEER_TABLE(j->to, "queue_length_summary", columns),
			  *blocked = PEER_TABLE(j->to, "time_blocked_on_full_queue", full_columns);
	for (size_t i = 0; i < j->n; i++) {
		const struct hta_rank *r = &j->ranks[i];
		changes c = find_changes(r);
		numbers streams = streams_of(&c);
		double last = NAN;
		int64_t last_stream = -1; /* HTA keeps one stream of each rank, the last one */
		for (size_t k = 0; k < streams.n; k++) {
			double full = add_stream(r, t, &c, streams.at[k]);
			if (!isnan(full)) {
				last = full;
				last_stream = streams.at[k];
			}
		}
		if (!isnan(last)) {
			peer_number(blocked, (double)r->rank);
			peer_number(blocked, (double)last_stream);
			peer_number(blocked, last);
			peer_number(blocked, last / trace_duration(r));
		}
		vec_free(&streams);
		vec_free(&c);
	}
}

/* ---- Bandwidth ---- */

struct point {
	double change;
	const char *name;
};

/* Returns the kind of a copy; equal kinds have the same pointer. */
static const char *copy_name(struct strtab *names, const char *kernel)
{
	char name[12];
	if (!strncmp(kernel, "Memset", 6))
		snprintf(name, sizeof(name), "Memset");
	else if (!strncmp(kernel, "Memcpy", 6))
		snprintf(name, sizeof(name), "%.11s", kernel);
	else
		return strtab_text(names, strtab_intern(names, "Memcpy Unknown"));
	return strtab_text(names, strtab_intern(names, name));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_rank(const struct hta_rank *r, struct peer_tables *to, struct peer_table *t)
{
	struct strtab texts = { 0 };
	struct point *points = mem_zero(2 * r->events.n * sizeof(*points));
	size_t n_points = 0;
	VEC(const char *) names = { 0 };
	doubles times = { 0 }, values = { 0 };
	for (int is_end = 0; is_end < 2; is_end++)
		for (size_t i = 0; i < r->events.n; i++) {
			const struct hta_event *e = &r->events.at[i];
			if (!hta_has_stream(e) || e->type != HTA_MEMORY)
				continue;
			double duration = e->duration == 0 ? 1 : e->duration;
			points[n_points++] = (struct point){ is_end ? -e->bandwidth : e->bandwidth,
							     copy_name(&texts, hta_name(r, e)) };
			vec_push(&times, is_end ? e->ts + duration : e->ts);
		}
	for (size_t i = 0; i < n_points; i++) {
		bool is_new = true;
		for (size_t k = 0; is_new && k < names.n; k++)
			is_new = names.at[k] != points[i].name;
		if (is_new)
			vec_push(&names, points[i].name);
	}
	if (names.n)
		qsort(names.at, names.n, sizeof(*names.at), by_text);
	size_t *order = mem_zero(n_points * sizeof(*order));
	numpy_argsort(order, times.at, n_points);
	for (size_t k = 0; k < names.n; k++) {
		double sum = 0;
		values.n = 0;
		for (size_t i = 0; i < n_points; i++) {
			const struct point *p = &points[order[i]];
			if (p->name != names.at[k])
				continue;
			sum += p->change;
			if (sum > 0)
				vec_push(&values, sum);
		}
		if (!values.n)
			continue;
		struct pandas_summary s = pandas_describe(values.at, values.n);
		peer_number(t, (double)r->rank);
		peer_word(to, t, names.at[k]);
		hta_put_summary(t, &s);
	}
	free(order);
	free(points);
	vec_free(&names);
	vec_free(&times);
	vec_free(&values);
	strtab_free(&texts);
}

void hta_add_bandwidth(const struct hta_job *j)
{
	static const char *const columns[] = { "rank", "name", "count", "mean", "std",
					       "min",  "25%",  "50%",	"75%",	"max" };
	struct peer_table *t = PEER_TABLE(j->to, "memory_bw_summary", columns);
	for (size_t i = 0; i < j->n; i++)
		add_rank(&j->ranks[i], j->to, t);
}
