/* Ranges that the application marked: one by one, and those that have tracks of their own, as many as overlap. */
#include "export/perfetto_trace.h"

#include <stdio.h>

void perfetto_write_range(struct trace *t, const struct model_range *r)
{
	struct pb *b = &t->w.out;
	uint32_t domain = r->domain ? perfetto_arg_text(&t->w, perfetto_name(r->domain)) : 0;
	struct perfetto_place place = perfetto_event_begin(
		&t->w, r->begin_ns, r->kind == MODEL_RANGE_MARK ? TYPE_INSTANT : TYPE_BEGIN,
		perfetto_name(r->name), perfetto_category(PLACE_RANGE), PERFETTO_EVENT_EXTRA);
	if (domain)
		perfetto_arg_interned(b, PERFETTO_ARG_DOMAIN, domain);
	if (r->begins_before)
		perfetto_arg_uint(b, PERFETTO_ARG_BEGINS_BEFORE, 1);
	if (r->ends_after)
		perfetto_arg_uint(b, PERFETTO_ARG_ENDS_AFTER, 1);
	perfetto_event_end(&t->w, place);
}

/* `ranges`: indexes, by begin. A lane takes each range that begins after what it has taken has ended. */
static void write_lanes(struct trace *t, const uint32_t *ranges, size_t n, uint64_t id,
			const char *name)
{
	bool *is_written = mem_zero(n);
	for (uint64_t lane = 0, n_left = n; n_left; lane++) {
		uint64_t end = 0;
		perfetto_sequence(&t->w,
				  perfetto_process_child(t, TRACK_KIND_RANGES,
							 perfetto_mix(id, lane), name),
				  t->m->begin_ns);
		for (size_t i = 0; i < n; i++) {
			const struct model_range *r = &t->m->ranges.at[ranges[i]];
			if (is_written[i] || r->begin_ns < end)
				continue;
			perfetto_write_range(t, r);
			perfetto_slice_end(&t->w, r->end_ns);
			end = r->end_ns;
			is_written[i] = true;
			n_left--;
		}
	}
	free(is_written);
}

void perfetto_write_ranges_beside(struct trace *t, size_t thread)
{
	const struct model_thread *of = &t->m->threads.at[thread];
	char name[64];
	const struct span_list *spans = &t->step->threads[thread].spans;
	if (!spans->crossing.n)
		return;
	snprintf(name, sizeof(name), "NVTX ranges that cross others, %.16s %u", of->name, of->tid);
	write_lanes(t, spans->crossing.at, spans->crossing.n, of->tid, name);
}

void perfetto_write_started_ranges(struct trace *t)
{
	VEC(uint32_t) started = { 0 };
	for (size_t i = 0; i < t->m->ranges.n; i++)
		if (t->m->ranges.at[i].kind == MODEL_RANGE_STARTED)
			vec_push(&started, (uint32_t)i);
	if (started.n)
		write_lanes(t, started.at, started.n, 0, "NVTX ranges of the process");
	vec_free(&started);
}
