/*
 * Two kinds of tracks that only stacks can tell: the step's phases, one track for the main host lane and one for each other that has any;
 * and the modules that were called, in a group that the UI shows shut until it is asked for.
 */
#include "export/perfetto_trace.h"

#include <stdio.h>

/* ---- Phases ---- */

static void begin_slice(struct trace *t, const char *name, const struct phase_span *s)
{
	struct perfetto_place place =
		perfetto_event_begin_text(&t->w, s->begin_ns, TYPE_BEGIN, name,
					  perfetto_category(PLACE_PHASE), PERFETTO_EVENT_EXTRA);
	perfetto_event_end(&t->w, place);
}

static bool is_same_phase(const struct phase_span *a, const struct phase_span *b)
{
	return phase_of_part(a->part) == phase_of_part(b->part);
}

/* A phase is a slice; parts of it with names of their own are slices within it. */
static void write_lane(struct trace *t, const struct phase_lane *lane)
{
	const struct phase_span *at = &t->step->phases->spans.at[lane->first];
	for (size_t i = 0, n; i < lane->n; i += n) {
		begin_slice(t, phase_name(phase_of_part(at[i].part)), &at[i]);
		for (n = 0; i + n < lane->n && is_same_phase(&at[i], &at[i + n]); n++) {
			const char *part = phase_part_name(at[i + n].part);
			if (!*part)
				continue;
			begin_slice(t, part, &at[i + n]);
			perfetto_slice_end(&t->w, at[i + n].end_ns);
		}
		perfetto_slice_end(&t->w, at[i + n - 1].end_ns);
	}
}

void perfetto_write_phases(struct trace *t)
{
	char name[64] = "Phases";
	for (size_t i = 0; i < t->step->phases->lanes.n; i++) {
		const struct phase_lane *lane = &t->step->phases->lanes.at[i];
		if (!lane->has_phases)
			continue;
		const struct model_thread *thread = &t->m->threads.at[lane->thread];
		if (i)
			snprintf(name, sizeof(name), "Phases, %.16s %u", thread->name, thread->tid);
		uint64_t uuid =
			perfetto_process_child(t, TRACK_KIND_PHASES, i ? thread->tid : 0, name);
		perfetto_sequence(&t->w, uuid, t->m->begin_ns);
		write_lane(t, lane);
	}
}

/* ---- Modules ---- */

static void write_modules(struct trace *t, const struct model_thread *thread,
			  const struct module_list *modules)
{
	char name[64];
	VEC(uint64_t) ends = { 0 };
	uint64_t parent = perfetto_process_child(t, TRACK_KIND_MODULES, 0, "Modules");
	uint64_t uuid = perfetto_track_uuid(t, TRACK_KIND_MODULES, thread->tid);
	snprintf(name, sizeof(name), "nn.Module, %.16s %u", thread->name, thread->tid);
	perfetto_track_end(&t->w, perfetto_track_begin(&t->w, uuid, parent, name));
	perfetto_sequence(&t->w, uuid, t->m->begin_ns);
	for (size_t i = 0; i < modules->at.n; i++) {
		const struct module_span *s = &modules->at.at[i];
		for (; ends.n > s->depth; ends.n--)
			perfetto_slice_end(&t->w, ends.at[ends.n - 1]);
		uint32_t word = perfetto_word(&t->w, s->name);
		struct perfetto_place place =
			perfetto_event_begin(&t->w, s->begin_ns, TYPE_BEGIN, word,
					     perfetto_category(PLACE_MODULE), PERFETTO_EVENT_EXTRA);
		perfetto_arg_uint(&t->w.out, PERFETTO_ARG_CALLS, s->n_calls);
		perfetto_event_end(&t->w, place);
		vec_push(&ends, s->end_ns);
	}
	for (; ends.n; ends.n--)
		perfetto_slice_end(&t->w, ends.at[ends.n - 1]);
	vec_free(&ends);
}

void perfetto_write_modules(struct trace *t)
{
	for (size_t i = 0; i < t->m->threads.n; i++)
		if (t->step->threads[i].modules.at.n)
			write_modules(t, &t->m->threads.at[i], &t->step->threads[i].modules);
}
