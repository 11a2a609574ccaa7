/*
 * See report_ranks.h. Ranks that exchange data at every step take equally long for it, whichever of them is slow. But the one that
 * comes last does not wait: it is the one that spends least time in collectives, and what it spends longer on than the others is why.
 */
#include "export/report_ranks.h"

#include "export/report_words.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32 };

static const double worth_share = 0.05, worth_least_ms = 0.05; /* of the step: less is noise */
static const char *const phases[] = { "data", "forward", "backward", "optimizer", "other" };

enum { PHASES_N = sizeof(phases) / sizeof(*phases) };

struct rank {
	double number, pid, step_ms, p95_ms, busy_pct, collective_ms, phase_ms[PHASES_N];
	const char *verdict;
};

struct ranks {
	struct rank *at;
	size_t n;
};

/* ---- Out of the processes ---- */

static double sum_of(const json_t *rows, const char *key, const char *wanted, const char *figure)
{
	double sum = 0;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		if (!strncmp(report_string(row, key), wanted, strlen(wanted)))
			sum += report_number(row, figure);
	}
	return sum;
}

/* Time of the device in their kernels, and time that it had nothing to do for them. */
static double collective_ms(const json_t *p)
{
	return sum_of(json_object_get(p, "kernels"), "name", "nccl", "gpu_ms_per_step") +
	       sum_of(json_object_get(p, "idle"), "cause", "collective", "ms_per_step");
}

static struct rank read_rank(const json_t *p)
{
	const json_t *baseline = json_object_get(p, "baseline"),
		     *all = json_object_get(baseline, "step_ms"),
		     *recorded = json_object_get(baseline, "recorded_ms");
	const json_t *gpu = json_array_get(json_object_get(p, "gpu"), 0);
	const json_t *lengths = json_is_object(all) ? all : recorded;
	struct rank r = { .number = report_number(p, "rank"),
			  .pid = report_number(p, "pid"),
			  .step_ms = report_number(lengths, "p50"),
			  .p95_ms = report_number(lengths, "p95"),
			  .busy_pct = report_number(gpu, "busy_pct"),
			  .collective_ms = collective_ms(p),
			  .verdict = report_string(json_object_get(p, "bound"), "verdict") };
	for (size_t i = 0; i < PHASES_N; i++)
		r.phase_ms[i] =
			sum_of(json_object_get(p, "phases"), "name", phases[i], "host_ms_per_step");
	return r;
}

static int by_number(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

/* False: no job of several ranks. */
static bool read_ranks(struct ranks *all, const json_t *processes)
{
	size_t n = json_array_size(processes);
	*all = (struct ranks){ .at = calloc(n + 1, sizeof(*all->at)) };
	for (size_t i = 0; all->at && i < n; i++) {
		const json_t *p = json_array_get(processes, i);
		if (report_has_number(p, "rank") && json_array_size(json_object_get(p, "gpu")))
			all->at[all->n++] = read_rank(p);
	}
	if (all->n < 2)
		return false;
	qsort(all->at, all->n, sizeof(*all->at), by_number);
	for (size_t i = 1; i < all->n; i++)
		if (!by_number(&all->at[i - 1], &all->at[i]))
			return false;
	return true;
}

/* ---- Who is waited for ---- */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* The middle one of all ranks but `left_out`, of a figure at `offset` in struct rank. */
static double median_of_others(const struct ranks *all, size_t left_out, size_t offset)
{
	double *values = calloc(all->n + 1, sizeof(*values)), median = 0;
	size_t n = 0;
	for (size_t i = 0; values && i < all->n; i++)
		if (i != left_out)
			memcpy(&values[n++], (const char *)&all->at[i] + offset, sizeof(*values));
	if (n) {
		qsort(values, n, sizeof(*values), by_value);
		median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
	}
	free(values);
	return median;
}

static json_t *straggler(const struct ranks *all)
{
	size_t last = 0, most = 0;
	double more_ms[PHASES_N];
	for (size_t i = 1; i < all->n; i++)
		if (all->at[i].collective_ms < all->at[last].collective_ms)
			last = i;
	const struct rank *r = &all->at[last];
	double waited_ms = median_of_others(all, last, offsetof(struct rank, collective_ms)) -
			   r->collective_ms;
	if (waited_ms < worth_least_ms || waited_ms < worth_share * r->step_ms)
		return json_null();
	for (size_t i = 0; i < PHASES_N; i++) {
		size_t offset = offsetof(struct rank, phase_ms) + i * sizeof(double);
		more_ms[i] = r->phase_ms[i] - median_of_others(all, last, offset);
		most = more_ms[i] > more_ms[most] ? i : most;
	}
	json_t *o =
		json_pack("{s:I, s:f}", "rank", (json_int_t)r->number, "ms_per_step", waited_ms);
	if (more_ms[most] >= waited_ms / 4) /* else it is not the host that takes longer */
		json_object_update_new(o, json_pack("{s:s, s:f}", "phase", phases[most], "phase_ms",
						    more_ms[most]));
	return o;
}

json_t *report_ranks(const json_t *processes)
{
	struct ranks all;
	json_t *o = NULL;
	if (read_ranks(&all, processes)) {
		json_t *list = json_array();
		for (size_t i = 0; i < all.n; i++) {
			const struct rank *r = &all.at[i];
			json_t *row = json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:s}", "rank",
						(json_int_t)r->number, "pid", (json_int_t)r->pid,
						"step_ms", r->step_ms, "p95_ms", r->p95_ms,
						"gpu_busy_pct", r->busy_pct, "collective_ms",
						r->collective_ms, "verdict", r->verdict);
			for (size_t k = 0; k < PHASES_N; k++) {
				char name[32];
				snprintf(name, sizeof(name), "%s_ms", phases[k]);
				json_object_set_new(row, name, json_real(r->phase_ms[k]));
			}
			json_array_append_new(list, row);
		}
		o = json_pack("{s:o, s:o}", "list", list, "straggler", straggler(&all));
	}
	free(all.at);
	return o;
}

/* ---- In words ---- */

const json_t *report_ranks_straggler(const json_t *root)
{
	const json_t *found = json_object_get(json_object_get(root, "ranks"), "straggler"),
		     *processes = json_object_get(root, "processes");
	for (size_t i = 0; json_is_object(found) && i < json_array_size(processes); i++) {
		const json_t *p = json_array_get(processes, i);
		if (json_equal(json_object_get(p, "rank"), json_object_get(found, "rank")))
			return p;
	}
	return NULL;
}

void report_ranks_say_straggler(struct textout *o, const json_t *root)
{
	char ms[NUMBER_BYTES], more[NUMBER_BYTES];
	const json_t *found = json_object_get(json_object_get(root, "ranks"), "straggler");
	if (!json_is_object(found))
		return;
	report_ms(ms, sizeof(ms), report_number(found, "ms_per_step"));
	report_ms(more, sizeof(more), report_number(found, "phase_ms"));
	if (report_has_number(found, "phase_ms"))
		text_line(o, TEXT_RED,
			  "ranks    wait %s ms a step for rank %.0f: its %s takes %s ms longer", ms,
			  report_number(found, "rank"), report_string(found, "phase"), more);
	else
		text_line(o, TEXT_RED, "ranks    wait %s ms a step for rank %.0f", ms,
			  report_number(found, "rank"));
}

void report_ranks_say(struct textout *o, const json_t *root)
{
	static const struct text_column columns[] = {
		{ "rank", COLUMN_NUMBER },     { "step", COLUMN_NUMBER },
		{ "GPU busy", COLUMN_NUMBER }, { "collectives", COLUMN_NUMBER },
		{ "data", COLUMN_NUMBER },     { "forward", COLUMN_NUMBER },
		{ "backward", COLUMN_NUMBER }, { "bound by", COLUMN_TEXT },
	};
	static const char *const figures[] = { "collective_ms", "data_ms", "forward_ms",
					       "backward_ms" };
	struct text_table t;
	const json_t *list = json_object_get(json_object_get(root, "ranks"), "list");
	if (!json_array_size(list))
		return;
	text_line(o, TEXT_PLAIN, "%s", "");
	text_line(o, TEXT_BOLD, "The %zu ranks, ms per step", json_array_size(list));
	table_start(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *x = json_array_get(list, i);
		char ms[NUMBER_BYTES];
		table_cell(&t, "%.0f", report_number(x, "rank"));
		table_cell(&t, "%s", report_ms(ms, sizeof(ms), report_number(x, "step_ms")));
		table_cell(&t, "%.0f %%", report_number(x, "gpu_busy_pct"));
		for (size_t k = 0; k < sizeof(figures) / sizeof(*figures); k++)
			table_cell(&t, "%s",
				   report_ms(ms, sizeof(ms), report_number(x, figures[k])));
		table_cell(&t, "%s", report_string(x, "verdict"));
	}
	table_end(&t, o);
}
