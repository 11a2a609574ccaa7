/*
 * Why each device was idle. Every gap in the union of a device's work has one cause, or is divided
 * among several at the edges of calls. The pieces sum up to the idle time to the nanosecond.
 *
 * A step is explained once, when it is added: its spans go into the trace, and their sums into the
 * report. What comes after the step is not known yet, so the gap at its end is explained by what
 * the step itself began with.
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
	uint32_t call; /* the timeline's; of this step, or of the one before */
	uint64_t ns;
};

/* One step. */
struct idle_step {
	VEC(struct idle_span) spans; /* by device and time; neighbours differ in cause or site */
	VEC(struct idle_wait) waits;
	VEC(struct idle_device) devices;
};

void idle_step_free(struct idle_step *s);

/* What the next step's explanation needs to know of the steps before. One per process. */
struct idle_tracker;

struct idle_tracker *idle_tracker_new(void);
void idle_tracker_free(struct idle_tracker *k);

/*
 * Explains the timeline's newest step, whose first GPU work from before the timeline is number
 * `first_earlier` of t->earlier. Replaces what is in `out`.
 */
void idle_explain_step(struct idle_tracker *k, const struct timeline *t, size_t first_earlier,
		       struct idle_step *out);
/* The step that was explained last is going to be removed from the timeline. */
void idle_tracker_forget_step(struct idle_tracker *k);

/* Fills the times of f->gpus, f->gpu_steps, and f->idle: one row per device and cause, at the
 * site that has most of it. */
void idle_fill(struct findings *f);

/* idle_usual.c: the same times for some steps only; `is_usual` by the timeline's steps. */
void idle_fill_usual(struct findings *f, const bool *is_usual);

/* ---- Between idle.c, idle_cause.c and idle_spans.c ---- */

/* A piece of work on a device, or what is known of one launched before. */
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
	bool is_behind_collective;     /* the work before the gap is one */
	const struct idle_item *after; /* the work that ends the gap; NULL: the step ends first */
	const struct timeline_step *step;
};

struct idle_host;

/* The host's side of one process, kept from step to step. */
struct idle_host *idle_host_new(void);
void idle_host_free(struct idle_host *h);
/* Takes in the timeline's newest step. `follows`: it comes directly after the step before. */
void idle_host_begin_step(struct idle_host *h, const struct timeline *t, struct idle_step *out,
			  bool follows);
/* The gaps up to idle_host_end_device() are this device's, in order of time. */
void idle_host_begin_device(struct idle_host *h, uint32_t device);
void idle_host_explain(struct idle_host *h, const struct idle_gap *gap);
void idle_host_end_device(struct idle_host *h);
void idle_host_end_step(struct idle_host *h);
/* The last step is going to be removed from the timeline. */
void idle_host_forget_step(struct idle_host *h);

/* Appends to the spans of `out`. */
void idle_add(struct idle_step *out, const struct idle_gap *gap, uint64_t *at_ns, uint8_t cause,
	      uint32_t site, uint64_t ns);

bool idle_work_is_collective(const struct timeline *t, const struct timeline_work *w);

#endif
