/* Time by kernel and by annotation: hta/analyzers/breakdown_analysis.py. */
#include "core/peers/hta_parts.h"

#include "core/peers/numpy.h"

#include <string.h>

enum { MOST_KERNELS = 10, MOST_ANNOTATIONS = 1000 }; /* HTA's defaults of `num_kernels` */
#define RATIO 0.8				     /* of `duration_ratio` */

struct named {
	const char *name;
	double value;
	size_t number;
};

typedef VEC(struct named) named_values;

struct sums {
	const char *name;
	double sum, max, min, std, mean;
};

typedef VEC(struct sums) sums_list;

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int names = strcmp(x->name, y->name);
	return names ? names : (x->number > y->number) - (x->number < y->number);
}

/* Groups by name: DataFrame.groupby().agg(). Names come in ascending order. */
static sums_list group(named_values *values)
{
	sums_list found = { 0 };
	VEC(double) part = { 0 };
	for (size_t i = 0; i < values->n; i++)
		values->at[i].number = i;
	if (values->n)
		qsort(values->at, values->n, sizeof(*values->at), by_name);
	for (size_t i = 0, end; i < values->n; i = end) {
		struct sums s = { .name = values->at[i].name, .max = -INFINITY, .min = INFINITY };
		part.n = 0;
		for (end = i; end < values->n && !strcmp(values->at[end].name, s.name); end++) {
			double value = values->at[end].value;
			s.sum += value;
			s.max = fmax(s.max, value);
			s.min = fmin(s.min, value);
			vec_push(&part, value);
		}
		s.mean = s.sum / (double)part.n;
		s.std = part.n < 2 ? 0 : pandas_group_std(part.at, part.n);
		vec_push(&found, s);
	}
	vec_free(&part);
	return found;
}

static void sort_by_sum(sums_list *list)
{
	double *sums = mem_resize(NULL, list->n * sizeof(*sums));
	size_t *order = mem_resize(NULL, list->n * sizeof(*order));
	struct sums *sorted = mem_resize(NULL, list->n * sizeof(*sorted));
	for (size_t i = 0; i < list->n; i++)
		sums[i] = list->at[i].sum;
	numpy_argsort_descending(order, sums, list->n);
	for (size_t i = 0; i < list->n; i++)
		sorted[i] = list->at[order[i]];
	free(list->at);
	list->at = sorted;
	list->room = list->n;
	free(sums);
	free(order);
}

/* Returns the list with all but the first names as "others", whose values are the sums. */
static sums_list shorten(const sums_list *list, size_t most)
{
	double *running = mem_resize(NULL, list->n * sizeof(*running)), sum = 0;
	named_values values = { 0 };
	for (size_t i = 0; i < list->n; i++)
		running[i] = sum += list->at[i].sum;
	double limit = numpy_quantile(running, list->n, RATIO);
	for (size_t i = 0; i < list->n; i++) {
		bool is_other = running[i] > limit || i >= most;
		vec_push(&values, (struct named){ is_other ? "others" : list->at[i].name,
						  list->at[i].sum, 0 });
	}
	sums_list found = group(&values);
	free(running);
	vec_free(&values);
	return found;
}

static sums_list aggregate(named_values *values, size_t most)
{
	sums_list all = group(values);
	sort_by_sum(&all);
	if (all.n > most) {
		sums_list shortened = shorten(&all, most);
		vec_free(&all);
		return shortened;
	}
	return all;
}

static int by_sums_name(const void *a, const void *b)
{
	const struct sums *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static void put_sums(struct peer_tables *to, struct peer_table *t, const struct sums *s)
{
	const double values[] = { s->sum, s->max, s->min, s->std, s->mean };
	peer_word(to, t, s->name);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		peer_number(t, values[i]);
}

/* ---- Kernels ---- */

struct kernel_row {
	struct sums sums;
	int64_t rank;
	size_t number;
};

static int by_kernel(const void *a, const void *b)
{
	const struct kernel_row *x = a, *y = b;
	int names = strcmp(x->sums.name, y->sums.name);
	if (names)
		return names;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void add_type(const struct hta_job *j, struct peer_table *t, enum hta_type type)
{
	VEC(struct kernel_row) rows = { 0 };
	for (size_t i = 0; i < j->n; i++) {
		const struct hta_rank *r = &j->ranks[i];
		named_values values = { 0 };
		for (size_t k = 0; k < r->events.n; k++) {
			const struct hta_event *e = &r->events.at[k];
			if (hta_has_stream(e) && e->type == type)
				vec_push(&values, (struct named){ hta_name(r, e), e->duration, 0 });
		}
		sums_list list = aggregate(&values, MOST_KERNELS);
		for (size_t k = 0; k < list.n; k++) {
			size_t number = rows.n;
			vec_push(&rows, (struct kernel_row){ list.at[k], r->rank, number });
		}
		vec_free(&list);
		vec_free(&values);
	}
	if (rows.n)
		qsort(rows.at, rows.n, sizeof(*rows.at), by_kernel);
	for (size_t i = 0; i < rows.n; i++) {
		put_sums(j->to, t, &rows.at[i].sums);
		peer_word(j->to, t, hta_type_names[type]);
		peer_number(t, (double)rows.at[i].rank);
	}
	vec_free(&rows);
}

void hta_add_kernels(const struct hta_job *j)
{
	static const char *const columns[] = { "name",	 "sum (us)",  "max (us)",    "min (us)",
					       "stddev", "mean (us)", "kernel_type", "rank" };
	struct peer_table *t = PEER_TABLE(j->to, "gpu_kernels", columns);
	add_type(j, t, HTA_COMMUNICATION); /* in the order of their names */
	add_type(j, t, HTA_COMPUTATION);
	add_type(j, t, HTA_MEMORY);
}

/* ---- Annotations ---- */

static void add_category(const struct hta_job *j, const char *table, const char *category)
{
	static const char *const columns[] = { "name",	 "sum (us)",  "max (us)", "min (us)",
					       "stddev", "mean (us)", "rank" };
	struct peer_table *t = PEER_TABLE(j->to, table, columns);
	for (size_t i = 0; i < j->n; i++) {
		const struct hta_rank *r = &j->ranks[i];
		named_values values = { 0 };
		for (size_t k = 0; k < r->events.n; k++) {
			const struct hta_event *e = &r->events.at[k];
			if (!strcmp(peer_text(&r->rows, e->category), category))
				vec_push(&values, (struct named){ hta_name(r, e), e->duration, 0 });
		}
		sums_list list = aggregate(&values, MOST_ANNOTATIONS);
		if (list.n)
			qsort(list.at, list.n, sizeof(*list.at), by_sums_name);
		for (size_t k = 0; k < list.n; k++) {
			put_sums(j->to, t, &list.at[k]);
			peer_number(t, (double)r->rank);
		}
		vec_free(&list);
		vec_free(&values);
	}
}

void hta_add_annotations(const struct hta_job *j)
{
	add_category(j, "gpu_user_annotations", "gpu_user_annotation");
	add_category(j, "cpu_user_annotations", "user_annotation");
}
