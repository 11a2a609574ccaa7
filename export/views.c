/* See views.h. */
#include "export/views.h"

#include "export/views_flame.h"
#include "export/views_memory.h"
#include "export/views_timeline.h"

#include <math.h>

enum {
	POINTS_MOST = 600, /* of the chart of step times; more than its pixels are not visible */
	CHOOSING_MOST = 1 << 14,
};

/* Typical steps take at most this many times the median (struct finding_gpu). */
#define LONG_TIMES 1.5

struct views {
	struct views_flame flame;
	struct views_memory memory;
	struct views_timeline timeline;
	uint64_t n_steps;
	VEC(float) lengths; /* of the first CHOOSING_MOST steps, to choose the timeline's step */
};

struct views *views_new(void)
{
	return mem_zero(sizeof(struct views));
}

void views_free(struct views *v)
{
	if (!v)
		return;
	views_flame_free(&v->flame);
	views_memory_free(&v->memory);
	views_timeline_free(&v->timeline);
	vec_free(&v->lengths);
	free(v);
}

/* ---- The step of the timeline ---- */

static double median(const struct views *v)
{
	float *sorted = mem_zero(v->lengths.n * sizeof(*sorted));
	memcpy(sorted, v->lengths.at, v->lengths.n * sizeof(*sorted));
	sample_sort(sorted, v->lengths.n);
	double middle = sample_percentile_of(sorted, v->lengths.n, 0.5);
	free(sorted);
	return middle;
}

static double distance(double ns, double middle_ns)
{
	return fabs(log((ns + 1) / (middle_ns + 1)));
}

/*
 * The timeline is of a step near the median. A timeline takes as long as a trace, so only the 1st,
 * 2nd, 4th, 8th ... recorded step may replace the one before it.
 */
static void choose_timeline(struct views *v, const struct model_step *m,
			    const struct analyzed_step *step)
{
	double ns = (double)(m->end_ns - m->begin_ns);
	if (v->lengths.n >= CHOOSING_MOST)
		return;
	vec_push(&v->lengths, (float)ns);
	if (v->n_steps & (v->n_steps - 1))
		return;
	double middle_ns = median(v);
	if (v->n_steps == 1 ||
	    distance(ns, middle_ns) < distance((double)v->timeline.ns, middle_ns))
		views_timeline_take(&v->timeline, step);
}

void views_add(struct views *v, const struct analyzed_step *step)
{
	v->n_steps++;
	views_flame_add(&v->flame, step);
	views_memory_add(&v->memory, step->model);
	choose_timeline(v, step->model, step);
}

/* ---- Step times ---- */

static json_t *rounded_ms(double ms)
{
	return json_real(round(ms * 1e4) / 1e4);
}

/* Lists the longest steps, if they are not typical. The first steps may be among them. */
static json_t *describe_longest(const struct baseline *b, double median_ms)
{
	json_t *list = json_array();
	for (size_t i = 0; i < b->n_longest; i++) {
		const struct baseline_long *step = &b->longest[i];
		if ((double)step->ms <= LONG_TIMES * median_ms)
			break;
		json_array_append_new(list, json_integer((json_int_t)step->number));
		json_array_append_new(list, rounded_ms((double)step->ms));
	}
	return list;
}

static json_t *describe_steps(const struct run *run)
{
	const struct baseline *b = &run->baseline;
	size_t n = b->n > BASELINE_KEPT ? BASELINE_ORDERED : b->ms.n,
	       per = (n + POINTS_MOST - 1) / POINTS_MOST;
	json_t *ms = json_array(), *low = json_array(), *high = json_array();
	for (size_t i = 0; i < n; i += per) {
		double sum = 0, least = INFINITY, most = 0;
		size_t end = i + per < n ? i + per : n;
		for (size_t k = i; k < end; k++) {
			sum += (double)b->ms.at[k];
			least = fmin(least, (double)b->ms.at[k]);
			most = fmax(most, (double)b->ms.at[k]);
		}
		json_array_append_new(ms, rounded_ms(sum / (double)(end - i)));
		json_array_append_new(low, rounded_ms(least));
		json_array_append_new(high, rounded_ms(most));
	}
	json_t *longest = describe_longest(b, sample_percentile(&run->step_ms, 0.5));
	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "first", (json_int_t)b->first,
			 "n", (json_int_t)b->n, "shown", (json_int_t)n, "per", (json_int_t)per,
			 "ms", ms, "low_ms", low, "high_ms", high, "longest", longest);
}

json_t *views_json(const struct views *v, const struct run *run)
{
	json_t *root = json_object();
	if (run->baseline.ms.n)
		json_object_set_new(root, "steps", describe_steps(run));
	if (!v->n_steps)
		return root;
	json_object_set_new(root, "flame", views_flame_json(&v->flame, run->frames));
	if (v->memory.series.n)
		json_object_set_new(root, "memory", views_memory_json(&v->memory));
	json_object_set_new(root, "timeline", views_timeline_json(&v->timeline));
	return root;
}
