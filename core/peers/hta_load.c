/* Loads a trace as HTA does: hta/common/trace_parser.py and trace.py. */
#include "core/peers/hta_parts.h"

#include "core/peers/numpy.h"

#include <ctype.h>
#include <string.h>

/* ---- Names ---- */

const char *const hta_type_names[HTA_TYPES] = { "COMPUTATION", "COMMUNICATION", "MEMORY" };

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool begins_any(const char *text, const char *const *with)
{
	for (; *with; with++)
		if (begins(text, *with))
			return true;
	return false;
}

static bool contains_any(const char *text, const char *const *what)
{
	for (; *what; what++)
		if (strstr(text, *what))
			return true;
	return false;
}

/* hta/common/types.py: CommunicateKernelGroupingPattern, MemoryKernelGroupingPattern and
 * ComputeKernelGroupingPattern */
uint8_t hta_type_of(const char *kernel)
{
	static const char *const communication[] = { "nccl", "hip", "hccl", NULL },
				 *const memory[] = { "Memcpy", "Memset", "dma", NULL },
				 *const no_computation[] = { "Stream Wait Event",
							     "runFunction",
							     "job_exe",
							     "packet",
							     "pe_exe",
							     "cpum_exe_subgraph",
							     "collective_subgraph_execution",
							     NULL },
				 *const within[] = { "Memcpy", "Memset", "dma", "Sync", NULL };
	if (begins_any(kernel, communication) || strstr(kernel, "ncclKernel"))
		return HTA_COMMUNICATION;
	if (begins_any(kernel, memory))
		return HTA_MEMORY;
	if (begins_any(kernel, no_computation) || contains_any(kernel, within) ||
	    (begins(kernel, "cuda") && strstr(kernel, "LaunchKernel")))
		return HTA_OTHER;
	return HTA_COMPUTATION;
}

int64_t hta_step_number(const char *name)
{
	static const char word[] = "ProfilerStep#";
	if (!begins(name, word) || !isdigit((unsigned char)name[sizeof(word) - 1]))
		return -1;
	return strtoll(name + sizeof(word) - 1, NULL, 10);
}

/* ---- Loading ---- */

static int64_t or_none(int64_t value)
{
	return value == PEER_NONE ? -1 : value;
}

/* GPUKernelFilter: hta/common/trace_filter.py */
static bool is_gpu(const struct hta_event *e, const char *name)
{
	return (e->stream >= 0 && e->correlation >= 0) || !strcmp(name, "Event Sync") ||
	       !strcmp(name, "Context Sync");
}

static void add_event(struct hta_rank *r, const struct peer_row *row)
{
	const char *name = peer_text(&r->rows, row->name);
	struct hta_event e = {
		.ts = row->ts,
		.duration = row->duration,
		.bandwidth = isnan(row->bandwidth) ? 0 : row->bandwidth,
		.stream = or_none(row->stream),
		.correlation = or_none(row->correlation),
		.pid = row->pid,
		.tid = row->tid,
		.name = row->name,
		.category = row->category,
		.index = row->index,
		.type = hta_type_of(name),
	};
	/* begins are rounded up and ends down, if one time of the file is no whole number */
	if (r->rows.has_fractions) {
		double end = floor(e.ts + e.duration);
		e.ts = ceil(e.ts);
		e.duration = end - e.ts;
	}
	e.is_gpu = is_gpu(&e, name);
	e.partner = e.correlation < 0 ? e.correlation : 0;
	vec_push(&r->events, e);
}

/* transform_correlation_to_index() */
static void find_partners(struct hta_rank *r)
{
	struct map last[2] = { { 0 } };
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		if (e->correlation != -1)
			*map_at(&last[e->is_gpu], (uint64_t)e->correlation, NULL) = e->index;
	}
	for (size_t i = 0; i < r->events.n; i++) {
		struct hta_event *e = &r->events.at[i];
		const uint64_t *found = e->correlation == -1 ? NULL
							     : map_find(&last[!e->is_gpu],
									(uint64_t)e->correlation);
		if (found)
			e->partner = (int64_t)*found;
	}
	map_free(&last[0]);
	map_free(&last[1]);
}

int hta_load(struct hta_rank *r, const char *path, struct err *e)
{
	memset(r, 0, sizeof(*r));
	int error = peer_rows_read(&r->rows, path, e);
	r->rank = r->rows.rank == PEER_NONE ? 0 : r->rows.rank;
	for (size_t i = 0; !error && i < r->rows.at.n; i++) {
		const struct peer_row *row = &r->rows.at.at[i];
		if (strcmp(peer_text(&r->rows, row->category), "Trace") != 0)
			add_event(r, row);
	}
	vec_free(&r->rows.at);
	find_partners(r);
	return error;
}

void hta_free(struct hta_rank *r)
{
	peer_rows_free(&r->rows);
	vec_free(&r->events);
	map_free(&r->by_index);
}

/* ---- Steps ---- */

/* Returns how many different names of steps all ranks have. */
static size_t count_step_names(const struct hta_rank *ranks, size_t n)
{
	struct strtab names = { 0 };
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < ranks[i].events.n; j++) {
			const char *name = hta_name(&ranks[i], &ranks[i].events.at[j]);
			if (hta_step_number(name) >= 0)
				strtab_intern(&names, name);
		}
	size_t found = names.texts.n ? names.texts.n - 1 : 0; /* without "" */
	strtab_free(&names);
	return found;
}

/*
 * Returns until when CPU events count. `shift`: what was subtracted from all begins. HTA does not
 * subtract it from the ends, so that with the last step, it keeps the events after it, too.
 */
static double find_limit(const struct hta_rank *r, bool keeps_last_step, double shift)
{
	double limit = -INFINITY, first = INFINITY, last = -INFINITY;
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		double end = e->ts + shift + e->duration;
		if (e->is_gpu)
			continue;
		first = fmin(first, e->ts);
		last = fmax(last, end);
		if (hta_step_number(hta_name(r, e)) >= 0)
			limit = fmax(limit, keeps_last_step ? end : e->ts);
	}
	return limit > -INFINITY ? limit : keeps_last_step ? last : first;
}

struct left {
	uint32_t event;
	double group; /* order in which the correlations appear */
};

static int by_group(const void *a, const void *b)
{
	const struct left *x = a, *y = b;
	if (x->group < y->group || x->group > y->group)
		return x->group < y->group ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

/*
 * Keeps the CPU events before the limit, and the GPU events with the correlation of one of them. As
 * pandas' merge(), GPU events with the same correlation come together, and an event is there once
 * for each CPU event with its correlation.
 */
static void filter(struct hta_rank *r, bool keeps_last_step, double shift)
{
	double limit = find_limit(r, keeps_last_step, shift);
	struct map n_cpu = { 0 }, groups = { 0 };
	VEC(struct left) gpu = { 0 };
	VEC(struct hta_event) cpu = { 0 }, kept = { 0 };
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		if (e->is_gpu || !(keeps_last_step ? e->ts <= limit : e->ts < limit))
			continue;
		(*map_at(&n_cpu, (uint64_t)e->correlation, NULL))++;
		vec_push(&cpu, *e);
	}
	for (size_t i = 0; i < r->events.n; i++) {
		const struct hta_event *e = &r->events.at[i];
		bool is_new;
		if (!e->is_gpu || !map_find(&n_cpu, (uint64_t)e->correlation))
			continue;
		uint64_t *group = map_at(&groups, (uint64_t)e->correlation, &is_new);
		if (is_new)
			*group = groups.n;
		vec_push(&gpu, (struct left){ (uint32_t)i, (double)*group });
	}
	if (gpu.n)
		qsort(gpu.at, gpu.n, sizeof(*gpu.at), by_group);
	for (size_t i = 0; i < gpu.n; i++) {
		const struct hta_event *e = &r->events.at[gpu.at[i].event];
		uint64_t times = *map_find(&n_cpu, (uint64_t)e->correlation);
		for (; times; times--)
			vec_push(&kept, *e);
	}
	for (size_t i = 0; i < cpu.n; i++)
		vec_push(&kept, cpu.at[i]);
	vec_free(&r->events);
	r->events.at = kept.at;
	r->events.n = kept.n;
	r->events.room = kept.room;
	vec_free(&cpu);
	vec_free(&gpu);
	map_free(&n_cpu);
	map_free(&groups);
}

void hta_align(struct hta_rank *ranks, size_t n, bool keeps_last_step)
{
	double first = INFINITY;
	bool has_steps = count_step_names(ranks, n) > 1;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < ranks[i].events.n; j++)
			first = fmin(first, ranks[i].events.at[j].ts);
	for (size_t i = 0; i < n; i++) {
		struct hta_rank *r = &ranks[i];
		for (size_t j = 0; j < r->events.n; j++)
			r->events.at[j].ts -= first;
		if (has_steps)
			filter(r, keeps_last_step, first);
		for (size_t j = 0; j < r->events.n; j++)
			*map_at(&r->by_index, r->events.at[j].index, NULL) = j;
	}
}
