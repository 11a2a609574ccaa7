/*
 * From the recorded steps to the replay's model. replay_build.c goes through them in the order in which things came, replay_trace.c makes of
 * each call and its work what the replay plays, with the times as they were measured, and replay_settle.c, when it is known what is usual,
 * says of each time what it was due to.
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
/* The value below which `share` of them lie, `otherwise` if there are none; frees the samples. */
double replay_quantile(struct replay_samples *s, double share, double otherwise);

struct replay_stream_state {
	double ready_ns; /* NAN: nothing was given to it so far */
	uint32_t last;	 /* its last work */
};

/* The model while it is made, and how far the device has come in the run that is gone through: its times count from there. */
struct replay_trace {
	struct replay *r;
	const struct timeline *t;
	struct lanes lanes;
	struct map streams, events;	       /* handle -> slot */
	VEC(struct replay_stream_state) state; /* by stream */
	VEC(double) event_ns;		       /* NAN: not recorded so far */
	VEC(uint32_t) before_in_stream;	       /* by work */
	VEC(uint8_t) event_role;	       /* by name: enum replay_role + 1 once looked up */
	double *lane_end;
	uint64_t origin_ns;
	struct replay_samples exit;
};

static inline double replay_at(const struct replay_trace *m, uint64_t ns)
{
	return (double)(int64_t)(ns - m->origin_ns);
}

/* What every call is compared with: the streams there are, and what launches and waits take. */
void replay_trace_start(struct replay_trace *m, struct replay *r, const struct timeline *t);
void replay_trace_free(struct replay_trace *m);

/* A new run of steps, which knows nothing of those before. */
void replay_trace_run(struct replay_trace *m, uint64_t begin_ns);
/* The timeline's call, or work without one: adds it to the model, in the order in which they began. */
void replay_trace_call(struct replay_trace *m, uint32_t index);
void replay_trace_orphan(struct replay_trace *m, uint32_t index);
/* When all streams of the device are done with what they were given, NAN: nothing. REPLAY_NONE: of every device. */
double replay_device_ready(const struct replay_trace *m, uint32_t device);

/* Last: of each work the later of launch and stream keeps what was measured, the rest becomes the usual time. */
void replay_settle(struct replay_trace *m);

#endif
