/*
 * A step as a Perfetto trace: process, threads, GPUs and their streams, arrows from calls to the work they caused, counters,
 * the step itself. Only TrackEvents are used: every version of Perfetto shows them, grouped as they are meant. A track's
 * slices never overlap (that would silently give wrong lengths): streams have lanes, calls are clipped.
 *
 * In a process's group the UI shows threads first, then all other tracks by their names' bytes, whatever order is asked
 * for. So names are chosen for it: "GPU 0 Stream 7", "Modules", "Phases", then "Steps", then counters and notes, all in small letters.
 */
#include "export/perfetto.h"

#include "export/exporter.h"
#include "export/outfile.h"
#include "export/perfetto_trace.h"

#include <stdio.h>

/* 2 M events: level 6 takes five times as long for a sixth less */
enum { GZIP_LEVEL = 1 };

static void write_counter(struct trace *t, const struct model_counter *c, size_t index)
{
	uint64_t uuid = perfetto_track_uuid(t, TRACK_KIND_COUNTER, perfetto_mix(c->device, index));
	struct perfetto_place place =
		perfetto_track_begin(&t->w, uuid, perfetto_gpu_parent(t, c->device), c->name);
	uint8_t *body = pb_begin(&t->w.out, TRACK_COUNTER);
	pb_uint(&t->w.out, COUNTER_UNIT,
		c->unit == UNIT_BYTES ? COUNTER_UNIT_BYTES : COUNTER_UNIT_COUNT);
	pb_end(&t->w.out, body);
	pb_uint(&t->w.out, TRACK_MERGE, MERGE_NONE);
	perfetto_track_end(&t->w, place);
	perfetto_sequence(&t->w, uuid, c->points.at[0].ns);
	for (size_t i = 0; i < c->points.n; i++)
		perfetto_count(&t->w, c->points.at[i].ns, c->points.at[i].value);
}

static void write_step_slice(struct trace *t)
{
	struct pb *b = &t->w.out;
	char name[64];
	snprintf(name, sizeof(name), t->m->is_whole_run ? "whole run" : "step %llu",
		 (unsigned long long)t->m->number);
	perfetto_sequence(&t->w, perfetto_process_child(t, TRACK_KIND_STEPS, 0, "Steps"),
			  t->m->begin_ns);
	struct perfetto_place place = perfetto_event_begin_text(&t->w, t->m->begin_ns, TYPE_BEGIN,
								name, perfetto_category(PLACE_STEP),
								PERFETTO_EVENT_EXTRA);
	perfetto_arg_uint(b, PERFETTO_ARG_NUMBER, t->m->number);
	perfetto_arg_string(b, PERFETTO_ARG_DETECTOR, t->m->detector);
	perfetto_arg_string(b, PERFETTO_ARG_ACTION, model_action_name(t->m->action));
	perfetto_arg_uint(b, PERFETTO_ARG_CALLS, t->m->calls.n);
	perfetto_arg_uint(b, PERFETTO_ARG_WORKS, t->m->works.n);
	if (t->m->is_cut)
		perfetto_arg_uint(b, t->m->is_lost ? PERFETTO_ARG_LOST : PERFETTO_ARG_CUT, 1);
	perfetto_event_end(&t->w, place);
	perfetto_slice_end(&t->w, t->m->end_ns);
}

static void write_notes(struct trace *t)
{
	if (!t->m->notes.n)
		return;
	uint64_t uuid = perfetto_process_child(t, TRACK_KIND_NOTES, 0, "profrun notes");
	for (size_t i = 0; i < t->m->notes.n; i++) {
		/* each begins its time anew: notes come in any order */
		perfetto_sequence(&t->w, uuid, t->m->notes.at[i].ns);
		struct perfetto_place place = perfetto_event_begin_text(
			&t->w, t->m->notes.at[i].ns, TYPE_INSTANT, t->m->notes.at[i].text,
			perfetto_category(PLACE_NOTE), 0);
		perfetto_event_end(&t->w, place);
	}
}

/* What CUPTI says it cost: a track per thread, as many as overlap. */
static void write_overheads(struct trace *t)
{
	bool *is_written = mem_zero(t->m->overheads.n);
	size_t n_left = t->m->overheads.n;
	for (uint64_t lane = 0; n_left; lane++) {
		uint64_t end = 0;
		for (size_t i = 0; i < t->m->overheads.n; i++) {
			const struct model_overhead *o = &t->m->overheads.at[i];
			if (is_written[i] || o->begin_ns < end)
				continue;
			if (!end)
				perfetto_sequence(&t->w,
						  perfetto_process_child(t, TRACK_KIND_OVERHEAD,
									 lane, "CUPTI's own cost"),
						  o->begin_ns);
			struct perfetto_place place = perfetto_event_begin_text(
				&t->w, o->begin_ns, TYPE_BEGIN, model_overhead_kind(o->what),
				perfetto_category(PLACE_OVERHEAD), 0);
			perfetto_event_end(&t->w, place);
			perfetto_slice_end(&t->w, o->end_ns);
			end = o->end_ns > o->begin_ns ? o->end_ns : o->begin_ns + 1;
			is_written[i] = true;
			n_left--;
		}
	}
	free(is_written);
}

static void describe_process(struct trace *t)
{
	struct pb *b = &t->w.out;
	struct perfetto_place place =
		perfetto_track_begin(&t->w, perfetto_track_uuid(t, TRACK_KIND_PROCESS, 0), 0, NULL);
	uint8_t *body = pb_begin(b, TRACK_PROCESS);
	pb_uint(b, PROCESS_PID, t->m->pid);
	if (t->m->command[0])
		pb_bytes(b, PROCESS_NAME, t->m->command, strnlen(t->m->command, 400));
	pb_end(b, body);
	perfetto_track_end(&t->w, place);
}

void perfetto_encode(const struct analyzed_step *step, perfetto_write *write, void *context)
{
	const struct model_step *m = step->model;
	struct trace t = { .m = m,
			   .step = step,
			   .salt = perfetto_mix(m->pid, m->process_start),
			   .stacks.frames = m->frames };
	t.flow = perfetto_mix(t.salt, m->number) & ~0xffffffffull;
	t.kernels = mem_zero(m->tables->kernels.n * sizeof(*t.kernels));
	t.launches = mem_zero(m->tables->launches.n * sizeof(*t.launches));
	perfetto_start(&t.w, &m->tables->names, write, context);
	perfetto_clocks(&t.w, m->clock.monotonic_ns, m->clock.boottime_ns, m->clock.realtime_ns);
	describe_process(&t);
	write_step_slice(&t);
	write_notes(&t);
	perfetto_write_phases(&t);
	perfetto_write_modules(&t);
	perfetto_write_threads(&t);
	perfetto_write_started_ranges(&t);
	perfetto_write_gpus(&t);
	for (size_t i = 0; i < m->counters.n; i++)
		write_counter(&t, &m->counters.at[i], i);
	write_overheads(&t);
	perfetto_stop(&t.w);
	perfetto_stacks_free(&t.stacks);
	free(t.kernels);
	free(t.launches);
}

static void to_file(void *context, const void *bytes, size_t n)
{
	outfile_write(context, bytes, n);
}

static int write_step(const struct analyzed_step *step, const char *path, struct err *e)
{
	struct outfile out;
	int error = outfile_open(&out, path, GZIP_LEVEL, e);
	if (error)
		return error;
	perfetto_encode(step, to_file, &out);
	return outfile_close(&out, e);
}

const struct exporter exporter_perfetto = {
	.name = "perfetto",
	.folder = "traces",
	.suffix = ".pftrace.gz",
	.noun = "trace",
	.viewer = "https://ui.perfetto.dev",
	.write_step = write_step,
};
