/*
 * Analyzes the recorded steps of one process, one after another, each exactly once. What an
 * analyzed step says goes into its traces, and its sums into the report, so the two agree.
 */
#ifndef CORE_ANALYZER_H
#define CORE_ANALYZER_H

#include "core/analysis/autograd_map.h"
#include "core/analysis/idle.h"
#include "core/analysis/modules.h"
#include "core/analysis/phases.h"
#include "core/analysis/spans.h"
#include "core/analysis/timeline.h"

/* What surrounds the calls of one thread. */
struct analyzed_thread {
	struct span_list spans;
	struct module_list modules;
};

/* A step and all that was found out about it. Read-only, and valid until the next step is added. */
struct analyzed_step {
	const struct model_step *model;
	const struct analyzed_thread *threads; /* by model->threads */
	const struct phases *phases;
	const uint32_t *forward_site; /* by call: frames_site() of the forward line that a call of
					 the backward pass belongs to; 0: not known */
	const struct idle_step *idle;
};

struct analyzer {
	struct timeline timeline; /* the steps that were kept */
	struct analyzed_step step;
	/* the newest step's */
	VEC(struct analyzed_thread) threads;
	VEC(uint32_t) forward_site;
	VEC(bool) is_backward;
	struct idle_step idle_step;
	struct phases phases;
	/* kept from step to step */
	struct spans spans;
	struct modules modules;
	struct autograd_map autograd_map;
	struct idle_tracker *idle;
};

/* `frames` may be NULL: then stacks say nothing. Both outlive the analyzer. */
void analyzer_start(struct analyzer *a, const struct tables *tables, struct frames *frames);
void analyzer_free(struct analyzer *a);

/* Forgets all steps: those that come are of something else. */
void analyzer_restart(struct analyzer *a);

/*
 * Analyzes a step, which must come after those before it in time. `keeps`: it becomes part of the
 * timeline, if there is room. Returns what was found.
 */
const struct analyzed_step *analyzer_add(struct analyzer *a, const struct model_step *m, bool keep);

#endif
