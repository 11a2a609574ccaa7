/* Why each device stands idle, on a track above its streams: the pauses that the report's sums are made of (core/analysis/idle.h), each with its line. */
#include "export/perfetto_trace.h"

#include "core/analysis/idle.h"

#include <stdio.h>

/* Shorter ones lie between any two kernels, and are as many as they are: they would double a trace for nothing. */
enum { IDLE_SHOWN_NS = 10000 };

static void write_span(struct trace *t, const struct idle_span *s)
{
	uint32_t line = s->site ? perfetto_line_of_site(&t->stacks, &t->w, s->site) : 0;
	if (line)
		line = perfetto_arg_text(&t->w, line);
	struct perfetto_place place = perfetto_event_begin_text(&t->w, s->begin_ns, TYPE_BEGIN,
								idle_causes[s->cause].noun,
								perfetto_category(PLACE_IDLE),
								PERFETTO_EVENT_EXTRA);
	if (line)
		perfetto_arg_interned(&t->w.out, PERFETTO_ARG_LINE, line);
	perfetto_arg_string(&t->w.out, PERFETTO_ARG_CAUSE, idle_causes[s->cause].meaning);
	perfetto_event_end(&t->w, place);
	perfetto_slice_end(&t->w, s->end_ns);
}

static void begin_track(struct trace *t, uint32_t device, uint32_t rank)
{
	char name[32];
	uint64_t uuid = perfetto_track_uuid(t, TRACK_KIND_IDLE, device);
	snprintf(name, sizeof(name), t->has_one_device ? "GPU %u idle" : "Idle", device);
	struct perfetto_place place =
		perfetto_track_begin(&t->w, uuid, perfetto_gpu_parent(t, device), name);
	pb_uint(&t->w.out, TRACK_ORDER_RANK, rank);
	pb_uint(&t->w.out, TRACK_MERGE, MERGE_NONE);
	perfetto_track_end(&t->w, place);
	perfetto_sequence(&t->w, uuid, t->m->begin_ns);
}

void perfetto_write_idle(struct trace *t, uint32_t *rank)
{
	const struct idle_step *idle = t->step->idle;
	uint32_t device = UINT32_MAX;
	for (size_t i = 0; i < idle->spans.n; i++) {
		const struct idle_span *s = &idle->spans.at[i];
		if (s->end_ns - s->begin_ns < IDLE_SHOWN_NS || s->device >= DEVICE_UNKNOWN)
			continue;
		if (s->device != device)
			begin_track(t, s->device, (*rank)++);
		device = s->device;
		write_span(t, s);
	}
}
