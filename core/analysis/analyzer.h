/* Analyzes the recorded steps of one process, in order, each step once. Traces and the report use
 * the same results, so they agree. */
#ifndef CORE_ANALYZER_H
#define CORE_ANALYZER_H

#include "core/analysis/call_code.h"
#include "core/analysis/captured.h"
#include "core/analysis/idle.h"
#include "core/analysis/timeline.h"

/* A step with all results of its analysis. Read-only. Valid until the next step is added. */
struct analyzed_step {
	const struct model_step *model;
	const struct analyzed_thread *threads; /* one entry per thread of model->threads */
	const struct phases *phases;
	/* By call of the model: if the call belongs to the backward pass, the line and module of
	 * the forward pass that caused it; 0: not known. */
	const struct autograd_map_place *tied;
	const struct captured_code *captured; /* by captured call of the model */
	const struct idle_step *idle;
	struct timeline *timeline; /* for the names of modules */
	/* The critical path of this step alone (core/whatif/critical_spans.h); NULL: it was not
	 * looked for. */
	const struct critical_spans *critical;
};

struct analyzer {
	struct timeline timeline; /* the steps added with `keep` */
	struct analyzed_step step;
	/* results for the newest step; `step` points to them */
	struct call_code code;
	struct captured captured;
	struct idle_step idle_step;
	struct idle_tracker *idle; /* state that is kept from step to step */
	/* Is called for each step while the step is the newest of the timeline, whether or not it
	 * is kept. Returns the step's critical path. NULL: nothing is called. */
	const struct critical_spans *(*look)(void *context, const struct timeline *t);
	void *look_context;
};

/* Initializes the analyzer. `frames` may be NULL: then stacks are not evaluated. `tables` and
 * `frames` must outlive the analyzer. */
void analyzer_start(struct analyzer *a, const struct tables *tables, struct frames *frames);
void analyzer_free(struct analyzer *a);

/* Drops all steps and all state. Call this when the steps that follow belong to another loop. */
void analyzer_restart(struct analyzer *a);

/* Analyzes a step and returns the results. Steps must be added in order of time. With `keep`, the
 * step is also appended to the timeline, if there is room (timeline_has_room()). */
const struct analyzed_step *analyzer_add(struct analyzer *a, const struct model_step *m, bool keep);

#endif
