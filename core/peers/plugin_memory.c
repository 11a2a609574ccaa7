/* Memory by operator: memory_parser.py. */
#include "core/peers/plugin_parts.h"

#include <string.h>

enum { INCREASE, ALLOCATION, COUNT, MEASURES };
enum { DEVICES_MOST = 65 }; /* the plugin knows 64 GPUs, and the CPU */

struct usage {
	double self[MEASURES], total[MEASURES];
};

struct walking {
	const struct plugin_trace *t;
	plugin_devices devices; /* -1: the CPU */
	struct usage *usage;	/* by node and device */
	bool *is_reached;	/* by node: a record is in it or below it */
	bool *is_counted;	/* by node: it counts as a call */
};

static int by_time(const void *a, const void *b)
{
	const struct peer_memory *const *x = a, *const *y = b;
	if ((*x)->ts < (*y)->ts || (*x)->ts > (*y)->ts)
		return (*x)->ts < (*y)->ts ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* Returns the device's number: -1: the CPU; -2: of another type. */
static int64_t device_of(const struct peer_memory *m)
{
	return m->device_type == 0 ? -1 : m->device_type == 1 && m->device >= 0 ? m->device : -2;
}

static struct usage *usage_of(const struct walking *w, uint32_t node, int64_t device)
{
	for (size_t i = 0; i < w->devices.n; i++)
		if (w->devices.at[i] == device)
			return &w->usage[node * w->devices.n + i];
	return NULL;
}

static void find_devices(struct walking *w)
{
	struct map seen = { 0 };
	for (size_t i = 0; i < w->t->rows.memory.n; i++) {
		int64_t device = device_of(&w->t->rows.memory.at[i]);
		bool is_new;
		map_at(&seen, (uint64_t)device, &is_new);
		if (is_new && device != -2 && w->devices.n < DEVICES_MOST)
			vec_push(&w->devices, device);
	}
	map_free(&seen);
}

/* Returns the innermost node with the record, PLUGIN_NO_NODE if it is outside the tree. */
static uint32_t find_node(struct walking *w, uint32_t root, double ts)
{
	const struct plugin_node *nodes = w->t->nodes.at;
	uint32_t at = root;
	if (!(ts >= nodes[root].start && ts < nodes[root].end))
		return PLUGIN_NO_NODE;
	for (;;) {
		uint32_t child = nodes[at].first;
		w->is_reached[at] = true;
		while (child != PLUGIN_NO_NODE && ts >= nodes[child].end)
			child = nodes[child].next;
		if (child == PLUGIN_NO_NODE || ts < nodes[child].start)
			return at;
		at = child;
	}
}

static void take(struct walking *w, const struct peer_memory *m)
{
	const struct plugin_trace *t = w->t;
	uint32_t node = PLUGIN_NO_NODE;
	int64_t device = device_of(m);
	for (size_t i = 0; node == PLUGIN_NO_NODE && i < t->threads.n; i++)
		if (t->threads.at[i].tid == m->tid)
			node = find_node(w, t->threads.at[i].root, m->ts);
	if (node == PLUGIN_NO_NODE || !t->nodes.at[node].is_operator || device == -2)
		return;
	struct usage *u = usage_of(w, node, device);
	if (!u)
		return;
	u->self[INCREASE] += (double)m->bytes;
	if (m->bytes > 0) {
		u->self[ALLOCATION] += (double)m->bytes;
		u->self[COUNT]++;
	}
}

static void read_records(struct walking *w)
{
	const struct plugin_trace *t = w->t;
	VEC(const struct peer_memory *) sorted = { 0 };
	for (size_t i = 0; i < t->rows.memory.n; i++)
		vec_push(&sorted, &t->rows.memory.at[i]);
	if (sorted.n)
		qsort(sorted.at, sorted.n, sizeof(*sorted.at), by_time);
	for (size_t i = 0; i < sorted.n; i++)
		take(w, sorted.at[i]);
	vec_free(&sorted);
}

/* Adds the use of each node to that of its parent. Below a node without records nothing counts. */
static void sum_up(struct walking *w)
{
	const struct plugin_trace *t = w->t;
	for (size_t i = 0; i < t->threads.n; i++) {
		const struct plugin_thread *thread = &t->threads.at[i];
		for (size_t k = 0; k < thread->nodes.n; k++) {
			uint32_t node = thread->nodes.at[k], parent = t->nodes.at[node].parent;
			w->is_counted[node] = !t->nodes.at[node].is_gone &&
					      (parent == thread->root ||
					       (w->is_counted[parent] && w->is_reached[parent]));
		}
		for (size_t k = thread->nodes.n; k-- > 0;) {
			uint32_t node = thread->nodes.at[k], parent = t->nodes.at[node].parent;
			if (!w->is_counted[node] || !w->is_reached[node])
				continue;
			for (size_t d = 0; d < w->devices.n; d++) {
				struct usage *u = &w->usage[node * w->devices.n + d],
					     *to = &w->usage[parent * w->devices.n + d];
				for (size_t m = 0; m < MEASURES; m++) {
					u->total[m] += u->self[m];
					to->total[m] += u->total[m];
				}
			}
		}
	}
}

struct row {
	const char *name;
	double calls;
	struct usage usage;
};
typedef VEC(struct row) row_list;

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static row_list rows_of(const struct walking *w, size_t device)
{
	const struct plugin_trace *t = w->t;
	struct map row_of = { 0 };
	row_list found = { 0 };
	for (size_t i = 0; i < t->operators.n; i++) {
		uint32_t node = t->operators.at[i], name = t->nodes.at[node].row->name;
		bool is_new;
		if (!w->is_counted[node])
			continue;
		uint64_t *at = map_at(&row_of, name, &is_new);
		if (is_new || !found.at) {
			*at = found.n;
			vec_push(&found, (struct row){ .name = peer_text(&t->rows, name) });
		}
		struct row *r = &found.at[*at];
		const struct usage *u = &w->usage[node * w->devices.n + device];
		r->calls++;
		for (size_t m = 0; m < MEASURES; m++) {
			r->usage.self[m] += u->self[m];
			r->usage.total[m] += u->total[m];
		}
	}
	if (found.n)
		qsort(found.at, found.n, sizeof(*found.at), by_name);
	map_free(&row_of);
	return found;
}

static bool is_any(const struct usage *u)
{
	for (size_t m = 0; m < MEASURES; m++)
		if (u->self[m] != 0 || u->total[m] != 0)
			return true;
	return false;
}

static void name_device(char *to, size_t bytes, int64_t device)
{
	if (device < 0)
		snprintf(to, bytes, "CPU");
	else
		snprintf(to, bytes, "GPU%lld", (long long)device);
}

static void put_operators(const struct plugin_view *v, const struct walking *w)
{
	static const char *const columns[] = { "worker",       "device",
					       "name",	       "calls",
					       "increase_kb",  "self_increase_kb",
					       "allocations",  "self_allocations",
					       "allocated_kb", "self_allocated_kb" };
	struct peer_table *table = PLUGIN_TABLE(v, "memory_by_operator", columns);
	for (size_t d = 0; d < w->devices.n; d++) {
		row_list rows = rows_of(w, d);
		char name[32];
		name_device(name, sizeof(name), w->devices.at[d]);
		for (size_t i = 0; i < rows.n; i++) {
			const struct usage *u = &rows.at[i].usage;
			if (!is_any(u))
				continue;
			peer_number(table, v->worker);
			peer_word(v->to, table, name);
			peer_word(v->to, table, rows.at[i].name);
			peer_number(table, rows.at[i].calls);
			peer_number(table, plugin_round(u->total[INCREASE] / 1024, 2));
			peer_number(table, plugin_round(u->self[INCREASE] / 1024, 2));
			peer_number(table, u->total[COUNT]);
			peer_number(table, u->self[COUNT]);
			peer_number(table, plugin_round(u->total[ALLOCATION] / 1024, 2));
			peer_number(table, plugin_round(u->self[ALLOCATION] / 1024, 2));
		}
		vec_free(&rows);
	}
}

double plugin_peak_bytes(const struct plugin_trace *t, int64_t type, int64_t device)
{
	double peak = NAN;
	for (size_t i = 0; i < t->rows.memory.n; i++) {
		const struct peer_memory *m = &t->rows.memory.at[i];
		if (m->device_type == type && (type == 0 || m->device == device) &&
		    !isnan(m->allocated))
			peak = isnan(peak) ? fmax(0, m->allocated) : fmax(peak, m->allocated);
	}
	return peak;
}

void plugin_add_memory(const struct plugin_view *v)
{
	static const char *const columns[] = { "worker", "device", "peak_bytes" };
	struct peer_table *peaks = PLUGIN_TABLE(v, "memory_peaks", columns);
	const struct plugin_trace *t = v->trace;
	struct walking w = { .t = t };
	find_devices(&w);
	w.usage = mem_zero((t->nodes.n * w.devices.n + 1) * sizeof(*w.usage));
	w.is_reached = mem_zero(t->nodes.n + 1);
	w.is_counted = mem_zero(t->nodes.n + 1);
	read_records(&w);
	sum_up(&w);
	for (size_t i = 0; i < w.devices.n; i++) {
		int64_t device = w.devices.at[i];
		char name[32];
		double peak = plugin_peak_bytes(t, device < 0 ? 0 : 1, device);
		if (isnan(peak))
			continue;
		name_device(name, sizeof(name), device);
		peer_number(peaks, v->worker);
		peer_word(v->to, peaks, name);
		peer_number(peaks, peak);
	}
	put_operators(v, &w);
	free(w.usage);
	free(w.is_reached);
	free(w.is_counted);
	vec_free(&w.devices);
}
