/*
 * Explains why each device was idle. Every gap in the union of a device's work has one cause, or is
 * divided among several at the edges of calls. The pieces add up to the idle time to the
 * nanosecond.
 *
 * A step is explained once, when it is added: its spans go into the trace, and their sums into the
 * report. The next step is not known yet, so the gap at the end of a step is explained as if the
 * next step began like this one.
 */
#ifndef CORE_IDLE_H
#define CORE_IDLE_H

#include "core/analysis/findings.h"

struct idle_span {
	uint64_t begin_ns, end_ns;
	uint32_t device, site;
	uint8_t cause;
};

/* Idle time caused by a call in which the host waited. */
struct idle_wait {
	uint32_t call; /* in the timeline; of this step or of the previous one */
	uint64_t ns;
};

/* The result for one step. */
struct idle_step {
	VEC(struct idle_span) spans; /* by device and time; neighbours differ in cause or site */
	VEC(struct idle_wait) waits;
	VEC(struct idle_device) devices;
};

void idle_step_free(struct idle_step *s);

/* State kept from step to step. One per process. */
struct idle_tracker;

struct idle_tracker *idle_tracker_new(void);
void idle_tracker_free(struct idle_tracker *k);

/* Explains the timeline's newest step. `first_earlier`: the step's first entry in t->earlier, GPU
 * work from before the timeline. Replaces the contents of `out`. */
void idle_explain_step(struct idle_tracker *k, const struct timeline *t, size_t first_earlier,
		       struct idle_step *out);
/* Call this before the last explained step is removed from the timeline. */
void idle_tracker_forget_step(struct idle_tracker *k);

/* Fills the times of f->gpus, f->gpu_steps, and f->idle: one row per device and cause, with the
 * site that has most of it. */
void idle_fill(struct findings *f);

/* idle_typical.c: fills the typical times of the same rows. `is_typical`: by the
 * timeline's steps. */
void idle_fill_typical(struct findings *f, const bool *is_typical);

/* ---- Between idle.c, idle_cause.c and idle_spans.c ---- */

/* A piece of work on a device, of a recorded step or launched before. */
struct idle_item {
	uint64_t begin_ns, end_ns;
	uint32_t work; /* index in the timeline, or IDLE_NO_WORK */
	uint32_t device;
	bool is_known; /* launched by a recorded step */
	bool is_collective;
};

#define IDLE_NO_WORK UINT32_MAX

struct idle_gap {
	uint64_t begin_ns, end_ns;
	uint32_t device;
	bool is_after_collective;      /* the work before the gap is a collective */
	const struct idle_item *after; /* the work that ends the gap; NULL: the step ends first */
	const struct timeline_step *step;
};

struct idle_host;

/* The host's state of one process, kept from step to step. */
struct idle_host *idle_host_new(void);
void idle_host_free(struct idle_host *h);
/* Adds the timeline's newest step. `follows`: it comes directly after the previous step. */
void idle_host_begin_step(struct idle_host *h, const struct timeline *t, struct idle_step *out,
			  bool follows);
/* The gaps until idle_host_end_device() are this device's, in order of time. */
void idle_host_begin_device(struct idle_host *h, uint32_t device);
void idle_host_explain(struct idle_host *h, const struct idle_gap *gap);
void idle_host_end_device(struct idle_host *h);
void idle_host_end_step(struct idle_host *h);
/* Call this before the last step is removed from the timeline. */
void idle_host_forget_step(struct idle_host *h);

/* Appends `ns` from `*at_ns` on to the spans of `out`, and advances `*at_ns`. */
void idle_add(struct idle_step *out, const struct idle_gap *gap, uint64_t *at_ns, uint8_t cause,
	      uint32_t site, uint64_t ns);

bool idle_work_is_collective(const struct timeline *t, const struct timeline_work *w);

#endif
