/* Walks the gaps in which a device is idle, each with its cause and line, on a track next to the
 * device's streams. The report sums up the same gaps (core/analysis/idle.h). */
#include "export/trace_walk_parts.h"

#include "core/analysis/idle.h"

/* Shorter gaps are not shown. They lie between almost any two kernels, so they would double the
 * size of a trace and show nothing. */
enum { IDLE_SHOWN_NS = 10000 };

static void begin_track(struct walk *w, uint32_t device, uint32_t rank)
{
	char name[32];
	snprintf(name, sizeof(name), "GPU %u idle", device);
	walk_track(w, &(struct trace_track){ .kind = TRACE_TRACK_IDLE,
					     .id = device,
					     .name = name,
					     .parent = walk_gpu_group(w, device),
					     .is_ranked = true,
					     .rank = rank,
					     .device = device,
					     .begin_ns = w->m->begin_ns });
}

static void walk_gap(struct walk *w, const struct idle_span *s)
{
	const struct idle_cause_row *cause = &idle_causes[s->cause];
	walk_slice_named(w, TRACE_CATEGORY_IDLE, cause->noun, s->begin_ns, s->end_ns);
	walk_word(w, TRACE_ARG_LINE, s->site ? trace_line_of_site(&w->stacks, s->site) : 0);
	if (s->before_site)
		walk_word(w, TRACE_ARG_AFTER, trace_line_of_site(&w->stacks, s->before_site));
	walk_text(w, TRACE_ARG_CAUSE, cause->meaning);
	walk_leaf(w);
}

void walk_idle(struct walk *w, uint32_t *rank)
{
	const struct idle_step *idle = w->step->idle;
	uint32_t device = DEVICE_UNKNOWN;
	for (size_t i = 0; i < idle->spans.n; i++) {
		const struct idle_span *s = &idle->spans.at[i];
		if (s->end_ns - s->begin_ns < IDLE_SHOWN_NS || s->device >= DEVICE_UNKNOWN)
			continue;
		if (s->device != device)
			begin_track(w, s->device, (*rank)++);
		device = s->device;
		walk_gap(w, s);
	}
}
