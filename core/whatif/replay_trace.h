/*
 * Converts the recorded steps to the replay's model, in three parts. replay_build.c walks the steps
 * in order of time. replay_trace.c converts each call and its GPU work, with the times as measured.
 * When all steps are converted, replay_settle.c computes the typical delays, and decides with them
 * what caused each measured delay.
 */
#ifndef CORE_REPLAY_TRACE_H
#define CORE_REPLAY_TRACE_H

#include "core/analysis/lanes.h"
#include "core/util/map.h"
#include "core/whatif/replay.h"

#include <math.h>

/* Values from which a quantile is computed. Zeros: no values. */
struct replay_samples {
	VEC(float) values;
};

/* Adds a value; the first 65,536 are kept. */
void replay_sample(struct replay_samples *s, double value);
/* Returns the value below which `share` (0 to 1) of the samples lie, or `otherwise` if there are no
 * samples. Frees the samples. */
double replay_quantile(struct replay_samples *s, double share, double otherwise);

struct replay_stream_state {
	double ready_ns; /* when the stream's work so far is done; NAN: no work in this run */
	uint32_t last;	 /* the stream's newest work, an index in r->works; or REPLAY_NONE */
};

/* The model under construction, and the state of CPU and GPU in the current run. Times of the run
 * are ns since its start, origin_ns. */
struct replay_trace {
	struct replay *r;
	const struct timeline *t;
	struct lanes lanes;
	size_t first_call, calls_end; /* the calls of all steps that may be played */
	/* `streams`: stream_key() -> index in r->streams. `events`: CUDA event handle -> index in
	 * event_ns. */
	struct map streams, events;
	VEC(struct replay_stream_state) state; /* by stream */
	/* By event: when it occurs; NAN: not recorded in this run so far. */
	VEC(double) event_ns;
	VEC(uint32_t) event_work; /* by event: the work before it in its stream, or REPLAY_NONE */
	/* By work: the previous work of its stream, or REPLAY_NONE. */
	VEC(uint32_t) before_in_stream;
	/* By function name: enum replay_role + 1; 0: not looked up. */
	VEC(uint8_t) event_role;
	double *lane_end;   /* by lane: when its last call returned */
	uint64_t origin_ns; /* begin of the run, CLOCK_MONOTONIC */
	/* Times from the end of the awaited work to the return of the waiting call. */
	struct replay_samples exit;
};

/* Converts a time of CLOCK_MONOTONIC to ns since the start of the run. */
static inline double replay_at(const struct replay_trace *m, uint64_t ns)
{
	return (double)(int64_t)(ns - m->origin_ns);
}

/*
 * If a wait returned more than this time before its supposed target was done, it waited for
 * something else. A shorter time may be a clock error, because the clocks of host and GPU differ by
 * a few us. A wait for a graph may return earlier still: on an H200 with CUDA 13.0, when its last
 * node began by CUPTI's times (78 us before an 80 us kernel ended).
 */
#define REPLAY_EARLY_MOST_NS 20e3

/*
 * If work begins more than REPLAY_DEP_LEAST_NS later than its launch and its stream allow, it
 * probably waited for work of another stream that ended less than REPLAY_DEP_NEAR_NS before.
 */
#define REPLAY_DEP_LEAST_NS 15e3
#define REPLAY_DEP_NEAR_NS  10e3

/* replay_order.c: sets is_ordered of the streams. The delays of the works must be as measured. */
void replay_order(struct replay *r);

/* Returns true if the work began right after work that its stream waits for because of the legacy
 * default stream. `last`: by stream, its newest work so far, or REPLAY_NONE. */
bool replay_is_after_order(const struct replay *r, const uint32_t *last,
			   const struct replay_work *w);

/* Initializes `m` for the `n_steps` steps from `first_step` on, adds the streams to the model, and
 * learns the typical cost of launches and waits. Free `m` with replay_trace_free(). */
void replay_trace_start(struct replay_trace *m, struct replay *r, const struct timeline *t,
			size_t first_step, size_t n_steps);
void replay_trace_free(struct replay_trace *m);

/* Starts a new run of steps, independent of earlier ones. */
void replay_trace_run(struct replay_trace *m, uint64_t begin_ns);
/* Adds the timeline's call `index`, or the orphan (work without a known call) `index`. Add both in
 * the order of their start. */
void replay_trace_call(struct replay_trace *m, uint32_t index);
void replay_trace_orphan(struct replay_trace *m, uint32_t index);
/* Returns the time at which all streams of the device are done with their work so far, or NAN if
 * they had no work so far. `device` REPLAY_NONE: all devices. */
double replay_device_ready(const struct replay_trace *m, uint32_t device);

/* Call this after all steps were added. Decides what delayed each piece of work. That delay stays
 * as measured, and the work's other delays are limited to the typical times. */
void replay_settle(struct replay_trace *m);

#endif
