/* See views_memory.h. */
#include "export/views_memory.h"

enum { FIRST_SPAN_NS = 1 << 10, WINDOWS_MOST = 200 };

static struct views_memory_series *series_of(struct views_memory *v, const struct model_counter *c)
{
	for (size_t i = 0; i < v->series.n; i++) {
		struct views_memory_series *s = &v->series.at[i];
		if (s->device == c->device && !strcmp(s->name, c->name))
			return s;
	}
	vec_push(&v->series, (struct views_memory_series){ .name = c->name,
							   .device = c->device,
							   .span_ns = FIRST_SPAN_NS });
	return &v->series.at[v->series.n - 1];
}

static struct views_memory_span merge(const struct views_memory_span *a,
				      const struct views_memory_span *b)
{
	if (!a->is_known || !b->is_known)
		return a->is_known ? *a : *b;
	return (struct views_memory_span){ .low = a->low < b->low ? a->low : b->low,
					   .high = a->high > b->high ? a->high : b->high,
					   .last = b->last,
					   .is_known = true };
}

static void double_spans(struct views_memory_series *s)
{
	for (size_t i = 0; i < VIEWS_MEMORY_SPANS / 2; i++)
		s->spans[i] = merge(&s->spans[2 * i], &s->spans[2 * i + 1]);
	memset(&s->spans[VIEWS_MEMORY_SPANS / 2], 0, VIEWS_MEMORY_SPANS / 2 * sizeof(*s->spans));
	s->span_ns *= 2;
	s->n_spans = (s->n_spans + 1) / 2;
}

/* `ns`: from the begin of the first recorded step. */
static void add_point(struct views_memory_series *s, uint64_t ns, int64_t bytes)
{
	const struct views_memory_span point = { bytes, bytes, bytes, true };
	while (ns / s->span_ns >= VIEWS_MEMORY_SPANS)
		double_spans(s);
	size_t at = (size_t)(ns / s->span_ns);
	s->spans[at] = merge(&s->spans[at], &point);
	s->n_spans = s->n_spans > at ? s->n_spans : at + 1;
}

static void add_window(struct views_memory *v, uint64_t begin_ns, uint64_t end_ns)
{
	struct views_memory_window *last = v->windows.n ? &v->windows.at[v->windows.n - 1] : NULL;
	if (last && (begin_ns <= last->end_ns || v->windows.n == WINDOWS_MOST))
		last->end_ns = end_ns;
	else
		vec_push(&v->windows, (struct views_memory_window){ begin_ns, end_ns });
}

void views_memory_add(struct views_memory *v, const struct model_step *m)
{
	add_window(v, m->begin_ns, m->end_ns);
	uint64_t begin_ns = v->windows.at[0].begin_ns;
	for (size_t i = 0; i < m->counters.n; i++) {
		const struct model_counter *c = &m->counters.at[i];
		struct views_memory_series *s = c->unit == UNIT_BYTES ? series_of(v, c) : NULL;
		for (size_t k = 0; s && k < c->points.n; k++) {
			uint64_t ns = c->points.at[k].ns;
			add_point(s, ns > begin_ns ? ns - begin_ns : 0, c->points.at[k].value);
		}
	}
}

/* Lists the least and the largest number of bytes of each span up to the end. In a span without a
 * change it is what was held before. */
static json_t *describe(const struct views_memory_series *s, uint64_t end_ns)
{
	json_t *low = json_array(), *high = json_array();
	size_t n = (size_t)(end_ns / s->span_ns) + 1;
	bool is_known = false;
	int64_t last = 0;
	for (size_t i = 0; i < n && i < VIEWS_MEMORY_SPANS; i++) {
		const struct views_memory_span *span = &s->spans[i];
		int64_t least = span->low, most = span->high;
		if (!span->is_known)
			least = most = last;
		else if (is_known && last < least)
			least = last;
		else if (is_known && last > most)
			most = last;
		is_known |= span->is_known;
		last = span->is_known ? span->last : last;
		json_array_append_new(low, is_known ? json_integer(least) : json_null());
		json_array_append_new(high, is_known ? json_integer(most) : json_null());
	}
	json_t *root = json_pack("{s:s, s:I, s:o, s:o}", "name", s->name, "span_ns",
				 (json_int_t)s->span_ns, "low", low, "high", high);
	if (s->device != DEVICE_UNKNOWN)
		json_object_set_new(root, "device", json_integer(s->device));
	return root;
}

json_t *views_memory_json(const struct views_memory *v)
{
	json_t *windows = json_array(), *series = json_array();
	uint64_t begin_ns = v->windows.at[0].begin_ns,
		 end_ns = v->windows.at[v->windows.n - 1].end_ns;
	for (size_t i = 0; i < v->windows.n; i++) {
		const struct views_memory_window *w = &v->windows.at[i];
		json_array_append_new(windows, json_integer((json_int_t)(w->begin_ns - begin_ns)));
		json_array_append_new(windows, json_integer((json_int_t)(w->end_ns - begin_ns)));
	}
	for (size_t i = 0; i < v->series.n; i++)
		json_array_append_new(series, describe(&v->series.at[i], end_ns - begin_ns));
	return json_pack("{s:I, s:o, s:o}", "ns", (json_int_t)(end_ns - begin_ns), "windows",
			 windows, "series", series);
}

void views_memory_free(struct views_memory *v)
{
	vec_free(&v->series);
	vec_free(&v->windows);
}
