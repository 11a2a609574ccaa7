/*
 * A step's trace while it is written: what perfetto.c (process, steps, counters), perfetto_threads.c (calls and what is around
 * them), perfetto_ranges.c (ranges beside them), perfetto_libraries.c (libraries' functions), perfetto_phases.c (phases, modules) and perfetto_gpu.c (streams) share. Nobody else includes this.
 */
#ifndef EXPORT_PERFETTO_TRACE_H
#define EXPORT_PERFETTO_TRACE_H

#include "core/analysis/analyzer.h"
#include "core/model/model.h"
#include "export/perfetto_stacks.h"
#include "export/perfetto_writer.h"

enum { PERFETTO_EVENT_EXTRA = 512 }; /* room for an event's facts */

enum perfetto_track_kind { /* mixed into tracks' uuids */
			   TRACK_KIND_PROCESS = 1,
			   TRACK_KIND_THREAD,
			   TRACK_KIND_STEPS,
			   TRACK_KIND_NOTES,
			   TRACK_KIND_GPU,
			   TRACK_KIND_STREAM,
			   TRACK_KIND_COUNTER,
			   TRACK_KIND_OVERHEAD,
			   TRACK_KIND_RANGES,
			   TRACK_KIND_PHASES,
			   TRACK_KIND_MODULES,
			   TRACK_KIND_IDLE,
};

#define X(id, name) PLACE_##id,
enum perfetto_place_of { PLACE_BEFORE = CAT_COUNT, PERFETTO_CATEGORIES(X) };
#undef X

struct blob {
	uint8_t bytes[96];
	uint8_t n;
};

struct trace {
	struct perfetto_writer w;
	const struct analyzed_step *step;
	const struct model_step *m; /* the step's */
	uint64_t salt; /* of uuids: the same process has the same tracks in all of its traces */
	uint64_t flow; /* of arrows: no two traces have the same */
	struct blob *kernels, *launches; /* arguments that are the same each time, encoded once */
	struct perfetto_stacks stacks;
	bool has_one_device; /* its streams need no group of their own, which the UI would show shut */
};

uint64_t perfetto_mix(uint64_t a, uint64_t b);
uint64_t perfetto_track_uuid(const struct trace *t, enum perfetto_track_kind kind, uint64_t id);

/* What stands directly below: the process, or the device's group. */
uint64_t perfetto_gpu_parent(const struct trace *t, uint32_t device);

/* A track that stands below the process. */
uint64_t perfetto_process_child(struct trace *t, enum perfetto_track_kind kind, uint64_t id,
				const char *name);

void perfetto_write_bytes(struct pb *b, uint64_t bytes, uint64_t ns);

/* A range's begin or, if it is a mark, the moment. */
void perfetto_write_range(struct trace *t, const struct model_range *r);
/* A library call's begin. */
void perfetto_write_library(struct trace *t, const struct model_library *l);
void perfetto_write_ranges_beside(struct trace *t, size_t thread);
void perfetto_write_started_ranges(struct trace *t);
void perfetto_write_threads(struct trace *t);
void perfetto_write_phases(struct trace *t);
void perfetto_write_modules(struct trace *t);
void perfetto_write_gpus(struct trace *t);
/* `rank`: of the next track among its siblings; moved on. */
void perfetto_write_idle(struct trace *t, uint32_t *rank);

#endif
