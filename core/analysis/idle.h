/*
 * Explains why each device was idle. A gap is a time in which the device runs no work. Each gap has
 * one cause, or is divided at the edges of calls into pieces with one cause each. The pieces add up
 * to the device's idle time to the nanosecond.
 *
 * Each step is explained once, when it is added. The resulting spans go into the trace, and their
 * sums into the report. The next step is not known at that time. So the gap at the end of a step is
 * explained as if the next step began like this step.
 */
#ifndef CORE_IDLE_H
#define CORE_IDLE_H

#include "core/analysis/contention.h"
#include "core/analysis/findings.h"
#include "core/analysis/lane_samples.h"

struct idle_span {
	uint64_t begin_ns, end_ns;
	uint32_t device, site;
	/* In a graph: the site that captured the work before the gap; `site` captured the work
	 * after it, or the host node. Else 0. */
	uint32_t before_site;
	uint8_t cause;
};

/* GPU idle time that is attributed to a call in which the CPU waited. */
struct idle_wait {
	uint32_t call; /* index in the timeline; a call of this step or of the previous one */
	uint64_t ns;
};

/* The results for one step. */
struct idle_step {
	/* By device and time. Neighbours differ in cause or site. */
	VEC(struct idle_span) spans;
	VEC(struct idle_wait) waits;
	VEC(struct idle_device) devices;
	/* owned by the tracker, until the next step */
	const struct lane_samples *host;
	const struct contention *contention;
};

void idle_step_free(struct idle_step *s);

/* State that is kept from step to step, one per analyzed process. */
struct idle_tracker;

struct idle_tracker *idle_tracker_new(void);
void idle_tracker_free(struct idle_tracker *k);

/* Explains the timeline's newest step and replaces the contents of `out`. `first_earlier`: index in
 * t->earlier of the step's first entry (GPU work launched before the recorded steps). */
void idle_explain_step(struct idle_tracker *k, const struct timeline *t, size_t first_earlier,
		       struct idle_step *out);
/* Call this before the newest step is removed from the timeline. Forgets the indexes of the step's
 * calls and works. */
void idle_tracker_forget_step(struct idle_tracker *k);

/* Fills f->gpus, f->gpu_steps and f->idle. f->idle gets one row per device and cause, with the site
 * that causes most of it. */
void idle_fill(struct findings *f);

/* idle_typical.c: fills the times of typical steps in f->gpus and f->idle. `is_typical`: by step of
 * the timeline. */
void idle_fill_typical(struct findings *f, const bool *is_typical);

/* ---- Internal: shared by idle.c, idle_cause.c and idle_spans.c ---- */

/* A piece of GPU work, launched by a recorded step or before. */
struct idle_item {
	uint64_t begin_ns, end_ns;
	uint64_t number; /* counts the work that the tracker has taken */
	uint32_t work;	 /* index in the timeline's works, or IDLE_NO_WORK */
	uint32_t device;
	bool is_known; /* it was launched by a recorded step */
	bool is_collective;
};

#define IDLE_NO_WORK UINT32_MAX

struct idle_gap {
	uint64_t begin_ns, end_ns;
	uint32_t device;
	bool is_after_collective; /* the work that ended where the gap begins is a collective */
	/* The work that ended where the gap begins. NULL: none, or not recorded. */
	const struct idle_item *before;
	/* The device's next work. It may begin after the end of the step. NULL: not known yet. */
	const struct idle_item *after;
	const struct timeline_step *step;
};

struct idle_host;

/* The state of the CPU threads of one process, kept from step to step. */
struct idle_host *idle_host_new(void);
void idle_host_free(struct idle_host *h);
/* Adds the timeline's newest step; results go to `out`. `follows`: this step directly follows the
 * step added before. */
void idle_host_begin_step(struct idle_host *h, const struct timeline *t, struct idle_step *out,
			  bool follows);
/* Begins a device. Until idle_host_end_device(), explain this device's gaps, in order of time. */
void idle_host_begin_device(struct idle_host *h, uint32_t device);
/* Explains a gap: appends its spans and waits to the results of the step. */
void idle_host_explain(struct idle_host *h, const struct idle_gap *gap);
void idle_host_end_device(struct idle_host *h);
void idle_host_end_step(struct idle_host *h);
/* Call this before the newest step is removed from the timeline. */
void idle_host_forget_step(struct idle_host *h);

/* Why the device is idle, and the lines that the idle time belongs to, as in struct idle_span. */
struct idle_reason {
	uint8_t cause;
	uint32_t site, before_site;
};

/* Appends a span of `ns` ns that begins at `*at_ns` to `out`, or extends the last span if the
 * reason is the same. Advances `*at_ns` by `ns`. */
void idle_add(struct idle_step *out, const struct idle_gap *gap, uint64_t *at_ns,
	      struct idle_reason reason, uint64_t ns);

/* ---- idle_graph.c: gaps inside a graph ---- */

/* Returns true if the gap lies between two nodes of one launch of a graph. Then the CPU is not the
 * cause, and `reason` gets the cause and the captured lines. */
bool idle_graph_explain(const struct timeline *t, const struct idle_gap *gap,
			struct idle_reason *reason);

/* Returns the line that captured a host function between two nodes of a graph; 0: none, or not
 * known. */
uint32_t idle_graph_host_site(const struct timeline *t, const struct timeline_work *from,
			      const struct timeline_work *to);

/* An idle device begins a kernel at most this long after the launch. */
enum { IDLE_LATENCY_NS = 20000 };
/* Work that began this long after its launch waited in the queue for other work. */
enum { IDLE_QUEUED_NS = 1000000 };

/* Returns whether the call loads code: it is a function of modules or libraries, or a launch that
 * takes so long that it must have loaded its kernel. */
bool idle_call_loads_code(const struct timeline *t, const struct timeline_call *c);

/* Returns true for kernels of NCCL. */
bool idle_work_is_collective(const struct timeline *t, const struct timeline_work *w);

#endif
