/*
 * Why each device stood idle: every gap in the union of its work belongs to one cause, or is divided among several at the edges
 * of calls. To the nanosecond: a device's pieces sum up to its idle time.
 */
#ifndef CORE_IDLE_H
#define CORE_IDLE_H

#include "core/analysis/findings.h"
#include "core/analysis/syncs.h"

struct idle_piece {
	uint8_t cause;
	uint32_t device, site;
	uint64_t ns;
};

struct idle_device {
	uint32_t device;
	uint64_t busy_ns, idle_ns, span_ns;
	uint64_t before_ns; /* busy with what was launched before the recorded steps */
	uint64_t late_ns;   /* of work that they launched, behind the recorded steps */
};

struct idle_span {
	uint64_t begin_ns, end_ns;
	uint32_t device, site;
	uint8_t cause;
};

struct idle {
	bool keeps_spans;
	VEC(struct idle_span)
	spans; /* where it keeps them: by device and time; neighbours differ in cause or line */
	uint64_t at_ns; /* up to where the gap under way is explained */
	VEC(struct idle_device) devices;
	VEC(struct finding_gpu_step) steps; /* one per device and step; the last one is under way */
	VEC(struct idle_piece) pieces;	    /* one per device, cause and site */
	struct map place;		    /* of pieces */
	uint64_t *of_call; /* what the devices stood idle for the sake of a call that waited */
};

/* `keeps_spans`: each piece in its place, beside the sums. */
void idle_account(struct idle *idle, const struct timeline *t, const struct waits *waits,
		  bool keeps_spans);
void idle_free(struct idle *idle);

/* A device whose pieces don't sum up to its idle time, or whose idle and busy time don't to the span; NULL: all do. */
const struct idle_device *idle_find_wrong(const struct idle *idle);

/* findings.gpus' times, findings.idle: one row per device and cause, at the site that has most of it. */
void idle_fill(struct findings *f, const struct idle *idle);

/* idle_usual.c: the same times of some steps alone, `is_usual` by the timeline's steps. */
void idle_fill_usual(struct findings *f, const bool *is_usual);

/* ---- Between idle.c, idle_cause.c and idle_pieces.c ---- */

struct idle_gap {
	uint64_t begin_ns, end_ns;
	uint32_t device;
	uint32_t before, after;		  /* the works around it, IDLE_NO_WORK */
	const struct timeline_step *step; /* that it lies in */
	bool is_last_step;		  /* what comes directly behind the step was not recorded */
};

#define IDLE_NO_WORK UINT32_MAX

struct idle_host;

struct idle_host *idle_host_new(struct idle *idle, const struct timeline *t,
				const struct waits *waits);
void idle_host_free(struct idle_host *h);
/* Another device: what the host did is gone through anew. */
void idle_host_rewind(struct idle_host *h);
/* Gaps must come in order. */
void idle_host_explain(struct idle_host *h, const struct idle_gap *gap);

void idle_add(struct idle *idle, uint32_t device, uint8_t cause, uint32_t site, uint64_t ns);

#endif
