/* See views_memory.h. */
#include "export/views_memory.h"

enum { POINTS_MOST = 1500, WINDOWS_MOST = 200 };

static struct views_memory_series *series_of(struct views_memory *v, const struct model_counter *c)
{
	for (size_t i = 0; i < v->series.n; i++) {
		struct views_memory_series *s = &v->series.at[i];
		if (s->device == c->device && !strcmp(s->name, c->name))
			return s;
	}
	vec_push(&v->series, (struct views_memory_series){ .name = c->name, .device = c->device });
	return &v->series.at[v->series.n - 1];
}

/* Halves the number of points. Of each pair the larger one stays, so that peaks do. */
static void halve(struct views_memory_series *s)
{
	size_t n = 0;
	for (size_t i = 0; i + 1 < s->points.n; i += 2) {
		const struct views_memory_point *a = &s->points.at[i], *b = a + 1;
		s->points.at[n++] = a->bytes >= b->bytes ? *a : *b;
	}
	s->points.n = n;
}

static void add_point(struct views_memory_series *s, uint64_t ns, int64_t bytes)
{
	if (s->points.n && s->points.at[s->points.n - 1].bytes == bytes)
		return;
	if (s->points.n >= 2 * POINTS_MOST)
		halve(s);
	vec_push(&s->points, (struct views_memory_point){ ns, bytes });
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
	for (size_t i = 0; i < m->counters.n; i++) {
		const struct model_counter *c = &m->counters.at[i];
		struct views_memory_series *s = c->unit == UNIT_BYTES ? series_of(v, c) : NULL;
		for (size_t k = 0; s && k < c->points.n; k++)
			add_point(s, c->points.at[k].ns, c->points.at[k].value);
	}
}

static json_t *describe(const struct views_memory_series *s, uint64_t begin_ns)
{
	json_t *points = json_array();
	for (size_t i = 0; i < s->points.n; i++) {
		uint64_t ns = s->points.at[i].ns;
		json_array_append_new(
			points, json_integer((json_int_t)(ns > begin_ns ? ns - begin_ns : 0)));
		json_array_append_new(points, json_integer(s->points.at[i].bytes));
	}
	json_t *root = json_pack("{s:s, s:o}", "name", s->name, "points", points);
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
		json_array_append_new(series, describe(&v->series.at[i], begin_ns));
	return json_pack("{s:I, s:o, s:o}", "ns", (json_int_t)(end_ns - begin_ns), "windows",
			 windows, "series", series);
}

void views_memory_free(struct views_memory *v)
{
	for (size_t i = 0; i < v->series.n; i++)
		vec_free(&v->series.at[i].points);
	vec_free(&v->series);
	vec_free(&v->windows);
}
