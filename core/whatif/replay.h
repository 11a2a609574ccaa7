/*
 * The recorded steps played again on a model of the machine, with something changed. The host is made of lanes (threads that never
 * overlap are one), the device of streams that work off what they are given in order. A call begins when its lane's
 * previous call has returned and the lane's own work since is done; a kernel when it was launched, the stream is free and the
 * events it waits for have come; a wait ends when what it waited for has. How long everything takes, and how late it comes
 * after what it depends on, is taken from the recorded steps, so that playing them unchanged gives them back.
 *
 * A run of successive steps is played several times in a row, and a step's time is what one more of these iterations costs: neither
 * how the device was found at the first step nor what is still in its queue at the end counts.
 */
#ifndef CORE_REPLAY_H
#define CORE_REPLAY_H

#include "core/analysis/timeline.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_NONE UINT32_MAX

/* Steps beyond these calls are left out: a play of them takes 20 ms, and a report makes some forty. */
enum { REPLAY_OPS_MOST = 150000, REPLAY_STEPS_LEAST = 2 };

enum replay_role {
	ROLE_HOST,	  /* takes the host time, nothing else */
	ROLE_LAUNCH,	  /* gives the device work */
	ROLE_WAIT_WORK,	  /* gives the device work and waits for it */
	ROLE_WAIT_STREAM, /* until stream `target` is done */
	ROLE_WAIT_EVENT,  /* until event `target` has come */
	ROLE_WAIT_DEVICE, /* until all streams of device `target` are done, REPLAY_NONE: of every device */
	ROLE_EVENT,	  /* event `target` comes when `stream` is done */
	ROLE_STREAM_WAIT, /* `stream` goes on when event `target` has come */
	ROLE_ORPHAN, /* work that no call is known of: begins when it did beside the host's own time */
};

/* A call. Times are ns in 32-bit floats: seven digits, at half the memory. */
struct replay_op {
	float gap_ns;  /* its lane's own work before it; after `anchor`: from that call's return */
	float cost_ns; /* within the call, without waiting */
	float exit_ns; /* from the end of what it waited for to its return */
	uint32_t call; /* in the timeline; REPLAY_NONE: an orphan */
	uint32_t
		anchor; /* a call of another lane that this one seems to have waited for; or REPLAY_NONE */
	uint32_t target, stream;
	uint32_t first_work, n_work;
	uint16_t lane; /* 0: the main one */
	uint8_t role;
};

/* A piece of GPU work. It begins when all of these have passed: `latency_ns` after its call's own cost, `after_ns` after the work before it
 * in its stream, `dep_ns` after work `dep`. A call's second and later works (graphs) follow the one before instead: `after_ns` after its end,
 * or, where they overlap, `latency_ns` after its begin. */
struct replay_work {
	float duration_ns, latency_ns, after_ns, dep_ns;
	uint32_t dep;  /* of another stream: seen, not announced; or REPLAY_NONE */
	uint32_t work; /* in the timeline */
	uint16_t stream;
	bool is_chained, overlaps;
};

/* Steps that follow each other. */
struct replay_run {
	uint32_t first_op, n_ops, n_steps;
	uint32_t first_step; /* in the timeline's */
	uint64_t begin_ns, end_ns;
	double iteration_ns; /* all its steps, in the last play */
	float *tail_ns;	     /* by lane: own work behind its last call */
};

struct replay_stream {
	uint32_t device;
};

/* What was learned; for people and tests. */
struct replay_learned {
	double issue_ns, latency_ns, after_ns; /* medians */
	double exit_ns;	 /* from the end of what was waited for to the return: median */
	double check_ns; /* a wait that finds everything done */
};

struct replay {
	const struct timeline *timeline;
	VEC(struct replay_op) ops;
	VEC(struct replay_work) works;
	VEC(struct replay_stream) streams;
	VEC(struct replay_run) runs;
	uint32_t n_lanes, n_events, n_steps;
	struct replay_learned learned;
	double measured_ns; /* a step */
	/* A play's, kept for the next: fresh pages for each took a seventh of its time. By op, by work. */
	double *op_end, *work_end;
	uint32_t *step; /* by op: which of its run's steps it belongs to, from 0 */
};

enum replay_edit_flag {
	EDIT_GONE = 1, /* the call and its work */
	EDIT_NO_WAIT =
		2, /* nothing is waited for: by the host or, ROLE_STREAM_WAIT, by the stream */
	EDIT_NO_COST = 4,   /* the call takes the host no time */
	EDIT_KEEP_GAP = 8,  /* for whoever makes edits: its caller's work around it stays */
	EDIT_AS_GRAPH = 16, /* its work follows what is before it in the stream as in a graph */
	EDIT_OF_LINE = 32,  /* for whoever makes edits: it goes with all that its line does */
};

/* What is different this time. NULL arrays: nothing. */
struct replay_edit {
	uint8_t *op;	  /* enum replay_edit_flag, by op */
	float *cut_ns;	  /* by op: of the gap before it */
	float *scale;	  /* by work: of its duration */
	float host_scale; /* of all gaps and costs; 0 stands for 1 */
};

/* Makes the model; runs.n is 0 if there is no step that could be played. */
void replay_build(struct replay *r, const struct timeline *t);
void replay_free(struct replay *r);

/* For walking over the calls lane by lane: the one before, by lane, REPLAY_NONE at first. The caller frees it. */
static inline uint32_t *replay_no_ops(const struct replay *r)
{
	uint32_t *ops = mem_zero(r->n_lanes * sizeof(*ops));
	for (uint32_t i = 0; i < r->n_lanes; i++)
		ops[i] = REPLAY_NONE;
	return ops;
}

/* ns per step; `edit` NULL: unchanged. */
double replay_play(const struct replay *r, const struct replay_edit *edit);

/* How long each step took in the last play: n_steps of them, in `ns`; those of a run add up to its iteration. A step is over when its last call
 * of the main lane has returned and all its work is done: a host that waits for nothing runs ahead, and its calls alone tell nothing. */
void replay_step_lengths(const struct replay *r, double *ns);

/* Takes from the model what recording cost: `off_ns` of a step's `played_ns`, the mean. Returns what they take now. */
double replay_unrecord(struct replay *r, double played_ns, double off_ns);

#endif
