/*
 * Replays the recorded steps on a model of the machine, with something changed. The host consists
 * of lanes (threads that never overlap share one), the device of streams that run their work in
 * order. A call begins when its lane's previous call has returned and the lane's own work after
 * that is done. A kernel begins when it was launched, its stream is free, and the events that it
 * waits for have occurred. A wait ends when what it waits for is done. All durations, and the delay
 * of everything after what it depends on, are taken from the recorded steps, so that an unchanged
 * replay reproduces them.
 *
 * A run of successive steps is played several times in a row, and a step's time is the time of one
 * more such iteration. So neither the device's state at the first step nor the work left in its
 * queue at the end counts.
 */
#ifndef CORE_REPLAY_H
#define CORE_REPLAY_H

#include "core/analysis/timeline.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_NONE UINT32_MAX

/* Steps beyond this number of calls are left out: a play of that many takes 20 ms, and a report
 * makes about forty plays. */
enum { REPLAY_OPS_MOST = 150000, REPLAY_STEPS_LEAST = 2 };

enum replay_role {
	ROLE_HOST,	  /* takes host time only */
	ROLE_LAUNCH,	  /* submits work */
	ROLE_WAIT_WORK,	  /* submits work and waits for it */
	ROLE_WAIT_STREAM, /* until stream `target` is done */
	ROLE_WAIT_EVENT,  /* until event `target` has occurred */
	/* until all streams of device `target` are done; REPLAY_NONE: of all devices */
	ROLE_WAIT_DEVICE,
	ROLE_EVENT,	  /* event `target` occurs when `stream` is done */
	ROLE_STREAM_WAIT, /* `stream` waits for event `target` */
	/* work without a known call: begins where it did, relative to the main lane */
	ROLE_ORPHAN,
};

/* A call. Times are ns in 32-bit floats: seven digits, at half the memory. */
struct replay_op {
	float gap_ns;  /* the lane's own work before it; with `anchor`: from that call's return */
	float cost_ns; /* within the call, without its wait */
	float exit_ns; /* from the end of what it waited for to its return */
	uint32_t call; /* in the timeline; REPLAY_NONE: an orphan */
	/* A call of another lane that this one seems to have waited for, or REPLAY_NONE. */
	uint32_t anchor;
	uint32_t target, stream;
	uint32_t first_work, n_work;
	uint16_t lane; /* 0: the main one */
	uint8_t role;
};

/*
 * A piece of GPU work. It begins when all of these have passed: `latency_ns` after its call's own
 * cost, `after_ns` after the previous work of its stream, `dep_ns` after work `dep`. A call's
 * second and later works (graphs) follow the previous one instead: `after_ns` after its end, or, if
 * they overlap, `latency_ns` after its begin.
 */
struct replay_work {
	float duration_ns, latency_ns, after_ns, dep_ns;
	uint32_t dep;  /* work of another stream, inferred from the times; or REPLAY_NONE */
	uint32_t work; /* in the timeline */
	uint16_t stream;
	bool is_chained, overlaps;
};

/* Successive steps. */
struct replay_run {
	uint32_t first_op, n_ops, n_steps;
	uint32_t first_step; /* in the timeline */
	uint64_t begin_ns, end_ns;
	double iteration_ns; /* length of all its steps in the last play */
	float *tail_ns;	     /* by lane: own work after its last call */
};

struct replay_stream {
	uint32_t device;
};

/* What was learned from the recorded steps; for debugging and tests. */
struct replay_learned {
	double issue_ns, latency_ns, after_ns; /* medians */
	double exit_ns;	 /* from the end of what was waited for to the return: median */
	double check_ns; /* cost of a wait that finds everything done */
};

struct replay {
	const struct timeline *timeline;
	VEC(struct replay_op) ops;
	VEC(struct replay_work) works;
	VEC(struct replay_stream) streams;
	VEC(struct replay_run) runs;
	uint32_t n_lanes, n_events, n_steps;
	struct replay_learned learned;
	double measured_ns; /* per step */
	/* Buffers of a play, by op and by work. Kept for the next one: fresh pages for each play
	 * took a seventh of its time. */
	double *op_end, *work_end;
	uint32_t *step; /* by op: which of its run's steps it belongs to, from 0 */
};

enum replay_edit_flag {
	EDIT_GONE = 1, /* the call and its work are removed */
	/* the host does not wait; ROLE_STREAM_WAIT: the stream does not wait */
	EDIT_NO_WAIT = 2,
	EDIT_NO_COST = 4,   /* the call takes no host time */
	EDIT_KEEP_GAP = 8,  /* for the code that makes edits: host work around the call stays */
	EDIT_AS_GRAPH = 16, /* its work follows the previous work of the stream as in a graph */
	EDIT_OF_LINE = 32,  /* for the code that makes edits: removed with its line */
};

/* Changes for one play. NULL arrays: none. */
struct replay_edit {
	uint8_t *op;	  /* enum replay_edit_flag, by op */
	float *cut_ns;	  /* by op: taken from the gap before it */
	float *scale;	  /* by work: factor of its duration */
	float host_scale; /* factor of all gaps and costs; 0 stands for 1 */
};

/* Builds the model; runs.n is 0 if no step can be played. */
void replay_build(struct replay *r, const struct timeline *t);
void replay_free(struct replay *r);

/* Returns an array by lane, all REPLAY_NONE, for the previous op of each lane. The
 * caller frees it. */
static inline uint32_t *replay_no_ops(const struct replay *r)
{
	uint32_t *ops = mem_zero(r->n_lanes * sizeof(*ops));
	for (uint32_t i = 0; i < r->n_lanes; i++)
		ops[i] = REPLAY_NONE;
	return ops;
}

/* Plays the model. Returns ns per step; `edit` NULL: unchanged. */
double replay_play(const struct replay *r, const struct replay_edit *edit);

/*
 * Fills `ns` with the lengths of the n_steps steps in the last play; those of a run add up to its
 * iteration. A step ends when its last call of the main lane has returned and all its work is done.
 * Calls alone would not show this, because a host that does not wait runs ahead.
 */
void replay_step_lengths(const struct replay *r, double *ns);

/* Removes the recording overhead from the model: `off_ns` of a step's `played_ns`, both means.
 * Returns the new mean. */
double replay_unrecord(struct replay *r, double played_ns, double off_ns);

#endif
