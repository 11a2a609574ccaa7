/* Analyzes the recorded steps of one process, in order, each exactly once. Traces and report both
 * use the result of that one analysis, so they agree. */
#ifndef CORE_ANALYZER_H
#define CORE_ANALYZER_H

#include "core/analysis/autograd_map.h"
#include "core/analysis/idle.h"
#include "core/analysis/modules.h"
#include "core/analysis/phases.h"
#include "core/analysis/spans.h"
#include "core/analysis/timeline.h"

/* What the calls of one thread are nested in. */
struct analyzed_thread {
	struct span_list spans;
	struct module_list modules;
};

/* A step with all results of its analysis. Read-only, and valid until the next step is added. */
struct analyzed_step {
	const struct model_step *model;
	const struct analyzed_thread *threads; /* by model->threads */
	const struct phases *phases;
	/* By call: frames_site() of the forward line that a call of the backward pass belongs to;
	 * 0: not known. */
	const uint32_t *forward_site;
	const struct idle_step *idle;
};

struct analyzer {
	struct timeline timeline; /* the steps that were kept */
	struct analyzed_step step;
	/* of the newest step */
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

/* `frames` may be NULL: then stacks are not evaluated. Both must outlive the analyzer. */
void analyzer_start(struct analyzer *a, const struct tables *tables, struct frames *frames);
void analyzer_free(struct analyzer *a);

/* Drops all steps, when the steps that follow belong to another loop. */
void analyzer_restart(struct analyzer *a);

/* Analyzes a step; steps must come in order of time. `keep`: the step becomes part of the timeline,
 * if there is room. Returns the results. */
const struct analyzed_step *analyzer_add(struct analyzer *a, const struct model_step *m, bool keep);

#endif
