/* Figures of GPUs: gpu_metrics_parser.py. */
#include "core/peers/plugin_parts.h"

#include <string.h>

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

plugin_devices plugin_devices_of(const struct plugin_trace *t)
{
	plugin_devices found = { 0 };
	struct map seen = { 0 };
	for (size_t i = 0; i < t->works.n; i++) {
		const struct plugin_work *w = &t->works.at[i];
		bool is_new;
		if (w->type != PLUGIN_KERNEL || w->row->device == PEER_NONE)
			continue;
		map_at(&seen, (uint64_t)w->row->device, &is_new);
		if (is_new)
			vec_push(&found, w->row->device);
	}
	if (found.n)
		qsort(found.at, found.n, sizeof(*found.at), by_number);
	map_free(&seen);
	return found;
}

static bool is_kernel_of(const struct plugin_event *e, int64_t device)
{
	return e->type == PLUGIN_KERNEL && e->row->device == device;
}

static struct plugin_range all_steps(const struct plugin_trace *t)
{
	return (struct plugin_range){ t->steps.at[0].begin, t->steps.at[t->steps.n - 1].end };
}

double plugin_utilization(const struct plugin_trace *t, int64_t device)
{
	plugin_ranges kernels = { 0 };
	struct plugin_range all = all_steps(t);
	const plugin_ranges steps = { &all, 1, 1 };
	for (size_t i = 0; i < t->events.n; i++)
		if (is_kernel_of(&t->events.at[i], device)) {
			const struct peer_row *row = t->events.at[i].row;
			vec_push(&kernels, (struct plugin_range){ row->ts, plugin_end(row) });
		}
	plugin_ranges merged = plugin_merge(&kernels), inside = plugin_intersect(&merged, &steps);
	double share = plugin_sum(&inside) / (all.end - all.begin);
	vec_free(&kernels);
	vec_free(&merged);
	vec_free(&inside);
	return share;
}

/* ---- Multiprocessors in use ---- */

struct edge {
	double ts, change;
	size_t number;
	bool is_end;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->ts < y->ts || x->ts > y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->is_end != y->is_end)
		return x->is_end ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The sum of blocks per multiprocessor of the kernels that run at a time, at most 1, averaged over
 * the steps. NAN if no kernel says how many blocks it has. */
static double efficiency(const struct plugin_trace *t, int64_t device)
{
	VEC(struct edge) edges = { 0 };
	struct plugin_range all = all_steps(t);
	double running = 0, sum = 0;
	bool is_any = false;
	for (size_t i = 0; i < t->events.n; i++) {
		const struct peer_row *row = t->events.at[i].row;
		double blocks = row->blocks_per_sm;
		if (!is_kernel_of(&t->events.at[i], device) || !(blocks > 0))
			continue;
		vec_push(&edges, (struct edge){ row->ts, blocks, 2 * i, false });
		vec_push(&edges, (struct edge){ plugin_end(row), -blocks, 2 * i + 1, true });
	}
	if (edges.n)
		qsort(edges.at, edges.n, sizeof(*edges.at), by_time);
	for (size_t i = 0; i + 1 < edges.n; i++) {
		double begin = fmax(edges.at[i].ts, all.begin),
		       end = fmin(edges.at[i + 1].ts, all.end);
		running += edges.at[i].change;
		if (edges.at[i + 1].ts <= edges.at[i].ts || !(running > 0) || end <= begin)
			continue;
		sum += fmin(running, 1) * (end - begin);
		is_any = true;
	}
	vec_free(&edges);
	return is_any ? sum / (all.end - all.begin) : NAN;
}

/* Occupancy in percent, weighted by time in steps. NAN if no kernel says it. */
static double occupancy(const struct plugin_trace *t, int64_t device)
{
	struct plugin_range all = all_steps(t);
	double sum = 0, time = 0;
	for (size_t i = 0; i < t->events.n; i++) {
		const struct peer_row *row = t->events.at[i].row;
		double begin = fmax(row->ts, all.begin), end = fmin(plugin_end(row), all.end);
		if (!is_kernel_of(&t->events.at[i], device) || !(row->occupancy >= 0) ||
		    begin >= end)
			continue;
		sum += row->occupancy * (end - begin);
		time += end - begin;
	}
	return time > 0 ? sum / time : NAN;
}

static void put_device(const struct plugin_view *v, struct peer_table *table, int64_t device)
{
	const struct plugin_trace *t = v->trace;
	bool is_known = device >= 0 && (uint64_t)device < t->rows.devices.n;
	const struct peer_device *d = is_known ? &t->rows.devices.at[device] : NULL;
	char capability[32] = "";
	if (d && !isnan(d->major) && !isnan(d->minor))
		snprintf(capability, sizeof(capability), "%g.%g", d->major, d->minor);
	peer_word(v->to, table, d ? d->name : "");
	peer_number(table, d ? plugin_round(d->memory_bytes / 1024 / 1024 / 1024, 2) : NAN);
	peer_word(v->to, table, capability);
}

void plugin_add_gpus(const struct plugin_view *v)
{
	static const char *const columns[] = { "worker",
					       "gpu",
					       "name",
					       "memory (GB)",
					       "compute_capability",
					       "gpu_utilization",
					       "est_sm_efficiency",
					       "est_achieved_occupancy_pct",
					       "tc_ratio" };
	struct peer_table *table = PLUGIN_TABLE(v, "gpus", columns);
	plugin_devices devices = plugin_devices_of(v->trace);
	for (size_t i = 0; i < devices.n; i++) {
		int64_t device = devices.at[i];
		peer_number(table, v->worker);
		peer_number(table, (double)device);
		put_device(v, table, device);
		peer_number(table, plugin_utilization(v->trace, device));
		peer_number(table, efficiency(v->trace, device));
		peer_number(table, occupancy(v->trace, device));
		peer_number(table, plugin_tensor_ratio(v->trace, device));
	}
	vec_free(&devices);
}
