/*
 * Converts the recorded steps to the replay's model. replay_build.c walks the steps in order of
 * time. replay_trace.c converts each call and its work, with times as measured. replay_settle.c
 * knows the typical times and then decides what each measured time was due to.
 */
#ifndef CORE_REPLAY_TRACE_H
#define CORE_REPLAY_TRACE_H

#include "core/analysis/lanes.h"
#include "core/util/map.h"
#include "core/whatif/replay.h"

#include <math.h>

struct replay_samples {
	VEC(float) values;
};

void replay_sample(struct replay_samples *s, double value);
/* Returns the value below which `share` of the samples lie; `otherwise` if there are none. Frees
 * the samples. */
double replay_quantile(struct replay_samples *s, double share, double otherwise);

struct replay_stream_state {
	double ready_ns; /* when its work so far is done; NAN: no work so far */
	uint32_t last;	 /* its last work */
};

/* The model under construction, and the device's progress in the current run. Times count from the
 * begin of the run. */
struct replay_trace {
	struct replay *r;
	const struct timeline *t;
	struct lanes lanes;
	struct map streams, events;	       /* handle -> slot */
	VEC(struct replay_stream_state) state; /* by stream */
	VEC(double) event_ns;		       /* NAN: not recorded so far */
	VEC(uint32_t) before_in_stream;	       /* by work: the previous one in its stream */
	VEC(uint8_t) event_role;	       /* by name: enum replay_role + 1 once looked up */
	double *lane_end;
	uint64_t origin_ns;
	struct replay_samples exit;
};

static inline double replay_at(const struct replay_trace *m, uint64_t ns)
{
	return (double)(int64_t)(ns - m->origin_ns);
}

/* Finds the streams, and the typical cost of launches and waits. */
void replay_trace_start(struct replay_trace *m, struct replay *r, const struct timeline *t);
void replay_trace_free(struct replay_trace *m);

/* Starts a new run of steps, independent of earlier ones. */
void replay_trace_run(struct replay_trace *m, uint64_t begin_ns);
/* Adds a call of the timeline, or work without a call. They must come in order of their begin. */
void replay_trace_call(struct replay_trace *m, uint32_t index);
void replay_trace_orphan(struct replay_trace *m, uint32_t index);
/* Returns when all streams of the device are done with their work so far; NAN: no work so far.
 * REPLAY_NONE: all devices. */
double replay_device_ready(const struct replay_trace *m, uint32_t device);

/* Call this last. The delay that counted for each work stays as measured, the others are limited to
 * the typical times. */
void replay_settle(struct replay_trace *m);

#endif
