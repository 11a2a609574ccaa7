/*
 * Replays the recorded steps on a model of CPU and GPU, with one thing changed.
 *
 * In the model, the host consists of lanes, and threads that take turns share a lane. The device
 * consists of streams, and each stream runs its GPU work in order. A lane alternates between calls
 * and gaps. A gap is the host's own work between two calls. A call begins when the gap before it
 * has ended. A kernel begins when three conditions hold: it was launched, its stream is free, and
 * the events that its stream waits for have occurred. A call that waits for GPU work returns when
 * this work is done. All durations and delays are taken from the recorded steps, so that a replay
 * without changes reproduces these steps.
 *
 * A run of successive steps is played for several iterations. The first iteration starts with empty
 * queues, and at the end the queues may still hold work. To exclude both effects, the step time is
 * computed from the time that the iterations after the first one add. A run without steps happens
 * once, so it is played once.
 */
#ifndef CORE_REPLAY_H
#define CORE_REPLAY_H

#include "core/analysis/timeline.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_NONE UINT32_MAX

/* Once the model has REPLAY_OPS_MOST ops, no more steps are added. A play of that many ops takes
 * 20 ms, and a report makes about forty plays. But REPLAY_STEPS_LEAST steps are always added, if
 * that many were recorded. */
enum { REPLAY_OPS_MOST = 150000, REPLAY_STEPS_LEAST = 2 };

/* What an op does in a play. */
enum replay_role {
	ROLE_HOST,	  /* the call takes host time only */
	ROLE_LAUNCH,	  /* the call submits GPU work */
	ROLE_WAIT_WORK,	  /* the call submits GPU work and waits for it */
	ROLE_WAIT_STREAM, /* the call waits until stream `target` is done */
	ROLE_WAIT_EVENT,  /* the call waits until event `target` has occurred */
	/* the call waits until all streams of device `target` are done; `target` REPLAY_NONE: the
	 * streams of all devices */
	ROLE_WAIT_DEVICE,
	ROLE_EVENT,	  /* the call records event `target`, which occurs when `stream` is done */
	ROLE_STREAM_WAIT, /* the call makes `stream` wait for event `target` */
	/* no call, only GPU work whose call is unknown: it is submitted `gap_ns` after the main
	 * lane's last call has returned */
	ROLE_ORPHAN,
};

/* A call, or an orphan: GPU work whose call is unknown. Times are ns in 32-bit floats, which keep
 * seven digits and need half the memory of doubles. */
struct replay_op {
	/* Host's own work before the call: since the return of the lane's previous call or, if
	 * `anchor` is set, since the return of the call `anchor`. */
	float gap_ns;
	float cost_ns; /* host time within the call, without its wait */
	float exit_ns; /* from the end of the awaited work to the return of the call */
	/* Parts of gap_ns, and of cost_ns or exit_ns, in which the thread waited for a CPU. */
	float gap_waited_ns, call_waited_ns;
	uint32_t call; /* index in the timeline's calls; REPLAY_NONE: an orphan */
	/* Op of another lane that this call probably waited for, or REPLAY_NONE. */
	uint32_t anchor;
	/* `target`: stream, event or device, see enum replay_role; `stream`: index in streams, for
	 * ROLE_WAIT_STREAM a stream whose work is awaited, too. */
	uint32_t target, stream;
	uint32_t first_work, n_work; /* GPU work that the call submits: range in works */
	uint16_t lane;		     /* 0: the main lane */
	uint8_t role;		     /* enum replay_role */
	bool was_full;		     /* the launch waited for room in the device's queue */
};

/* What delayed the first piece of GPU work of a call. */
enum replay_cause {
	CAUSE_LAUNCH, /* its launch */
	CAUSE_STREAM, /* the work before it in its stream, or an event that the stream waited for */
	CAUSE_DEP,    /* the work `dep` */
	CAUSE_ORDER,  /* work that it is ordered with because of the legacy default stream */
	CAUSE_FIRST,  /* not known: its stream had no work before it in the run */
};

/*
 * One piece of GPU work: a kernel, copy or memset. The first piece of a call begins when three
 * delays have passed: `latency_ns` after the call's host cost, `after_ns` after the end of the
 * stream's previous work, and `dep_ns` after the end of the work `dep`. A graph launch submits
 * several pieces. Its second and later pieces are chained: each begins `after_ns` after the end of
 * the piece `before`, and not before the end of `own_before`. If no piece of the launch had ended
 * yet (`overlaps`), it begins `latency_ns` after the piece `before` began.
 */
struct replay_work {
	float duration_ns, latency_ns, after_ns, dep_ns;
	/* Index in works of the work of another stream that this work waits for, inferred from the
	 * recorded times; or REPLAY_NONE. */
	uint32_t dep;
	/* is_chained: pieces of the same launch (replay_chain.h), indices in works.
	 * `own_before`: captured by the same stream; REPLAY_NONE: there is none. */
	uint32_t before, own_before;
	uint32_t work;	 /* index in the timeline's works */
	uint16_t stream; /* index in streams */
	/* `is_chained`: second or later piece of its call. `overlaps`: is_chained, and began before
	 * any piece of its call had ended. */
	bool is_chained : 1, overlaps : 1;
	uint8_t cause : 6; /* enum replay_cause, unless is_chained */
};

/* A run of successive steps. */
struct replay_run {
	uint32_t first_op, n_ops, n_steps;
	bool is_once; /* without steps */
	/* is_once: when the device had finished earlier work, from the run's begin, and for how
	 * much of this time the run's first work waited for it. The waiting does not count. */
	double ready_ns, waited_ns;
	uint32_t first_step;	   /* index in the timeline's steps */
	uint64_t begin_ns, end_ns; /* as recorded */
	uint64_t cpu_end_ns;	   /* what the CPU did is known until then */
	double iteration_ns;	   /* time of all steps of the run together in the last play */
	float *tail_ns;		   /* by lane: the host's own work after the lane's last call */
	float tail_waited_ns;	   /* the part of tail_ns[0] in which a CPU was waited for */
};

struct replay_stream {
	uint32_t device;
	/* `is_legacy`: the device's legacy default stream. `is_ordered`: a stream whose work runs
	 * only between pieces of work of the legacy stream (replay_order.c). */
	bool is_legacy, is_ordered;
};

/* Typical times in the recorded steps. replay_build() learns and uses them; a play only uses
 * after_ns. */
struct replay_learned {
	/* Medians. `issue_ns`: duration of a launch call. `latency_ns`: time from a launch to its
	 * kernel on an idle stream. `after_ns`: time between two successive kernels of a busy
	 * stream. */
	double issue_ns, latency_ns, after_ns;
	double exit_ns;	 /* median time from the end of the awaited work to the call's return */
	double check_ns; /* duration of a waiting call whose target is already done */
};

struct replay {
	const struct timeline *timeline;
	VEC(struct replay_op) ops;
	VEC(struct replay_work) works;
	VEC(struct replay_stream) streams;
	VEC(struct replay_run) runs;
	uint32_t n_lanes, n_events, n_steps;
	struct replay_learned learned;
	double measured_ns; /* recorded time per step */
	/* End of each op and of each piece of work in the last play. Every play reuses these two
	 * arrays, because allocating fresh pages took a seventh of a play. */
	double *op_end, *work_end;
	/* Of each piece of work in the last play, as the pieces chained to it see them. */
	double *piece_begin, *piece_end;
	uint32_t *step; /* by op: number of its step within the run, from 0 */
};

/* replay_play() ignores EDIT_KEEP_GAP and EDIT_OF_LINE. They are notes for cut_gaps() in whatif.c,
 * which decides how much host time around a removed call goes. */
enum replay_edit_flag {
	EDIT_GONE = 1, /* the call and its GPU work are removed */
	/* the host does not wait; ROLE_STREAM_WAIT: the stream does not wait */
	EDIT_NO_WAIT = 2,
	EDIT_NO_COST = 4,  /* the call takes no host time */
	EDIT_KEEP_GAP = 8, /* the host's own work around the removed call stays */
	/* the call's GPU work follows the stream's previous work as closely as in a graph */
	EDIT_AS_GRAPH = 16,
	EDIT_OF_LINE = 32,   /* the call is removed because its whole line is removed */
	EDIT_HALF_COST = 64, /* the call takes half as much host time */
	/* the call's GPU work runs alongside its stream, after other work that does so */
	EDIT_ASIDE = 128,
};

/* What is changed of a piece of GPU work that a graph runs. */
enum replay_node_flag {
	NODE_GONE = 1,	   /* it is not run, and the gap before it goes */
	NODE_NO_GAP = 2,   /* the gap before it goes */
	NODE_HALF_GAP = 4, /* the gap before it is half as long */
	/* It runs on another branch: the nodes after it do not wait for it, but the end of the
	 * graph does. NODE_ASIDE: the end of the graph does not wait, either. */
	NODE_BRANCH = 8,
	NODE_ASIDE = 16,
};

/* Changes for one play. A NULL array means no changes of its kind. */
struct replay_edit {
	uint8_t *op;	  /* by op: bits of enum replay_edit_flag */
	float *cut_ns;	  /* by op: time removed from the gap before the op; negative: added */
	float *scale;	  /* by work: factor of its duration */
	uint8_t *node;	  /* by work: bits of enum replay_node_flag */
	uint16_t *stream; /* by work: the stream that it runs in, index in streams */
	float host_scale; /* factor of all gaps and costs; 0 stands for 1 */
};

/* Builds the model. If no step can be played, r->runs is empty. Free the model with replay_free()
 * in any case. `t` must outlive it. */
void replay_build(struct replay *r, const struct timeline *t);
/* Builds the model of the `n_steps` steps from `first_step` on. */
void replay_build_steps(struct replay *r, const struct timeline *t, size_t first_step,
			size_t n_steps);
void replay_free(struct replay *r);

/* Returns an array with one REPLAY_NONE per lane. Callers store the lane's previous op in it, and
 * free it. */
static inline uint32_t *replay_no_ops(const struct replay *r)
{
	uint32_t *ops = mem_zero(r->n_lanes * sizeof(*ops));
	for (uint32_t i = 0; i < r->n_lanes; i++)
		ops[i] = REPLAY_NONE;
	return ops;
}

/* Plays the model with the changes of `edit`; NULL: no changes. Returns the mean step time in ns.
 * Writes the buffers in `r`, so only one thread may play a model at a time. */
double replay_play(const struct replay *r, const struct replay_edit *edit);

/*
 * Fills `ns` with the length of each of the r->n_steps steps in the last play. The lengths of one
 * run's steps add up to the run's iteration_ns. A step ends when its last call of the main lane has
 * returned and all its GPU work is done. The calls alone do not show the end, because a host that
 * does not wait runs ahead of the device.
 */
void replay_step_lengths(const struct replay *r, double *ns);

/* Removes the times in which threads waited for a CPU from the model. Returns whether there were
 * any. */
bool replay_remove_waits(struct replay *r);

/* Removes the recording overhead from the model. `played_ns` is the mean step time of the last
 * play, and `off_ns` is the part of it to remove. Returns the new mean step time in ns. */
double replay_unrecord(struct replay *r, double played_ns, double off_ns);

#endif
