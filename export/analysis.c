/* See analysis.h. */
#include "export/analysis.h"

#include "core/analysis/block_summary.h"
#include "core/analysis/step_times.h"
#include "core/analysis/summary.h"
#include "core/analysis/summary_failure.h"
#include "core/analysis/summary_run.h"
#include "core/util/work.h"
#include "core/verdict/judge.h"
#include "core/whatif/critical_spans.h"
#include "export/report_fill.h"
#include "export/views.h"

#include <string.h>

struct analysis {
	const struct run *run;
	struct analyzer analyzer;
	struct block_summary blocks;
	struct views *views; /* of the recorded steps that are kept; NULL: no report is wanted */
	struct critical_spans critical; /* of the newest step */
	bool is_reported;		/* recorded steps are kept for a report */
	uint32_t training;		/* run->training when the last step was added */
};

static const struct critical_spans *find_critical(void *context, const struct timeline *t)
{
	struct critical_spans *s = context;
	critical_spans_find(s, t);
	return s;
}

struct analysis *analysis_new(const struct run *run, bool is_reported)
{
	struct analysis *a = mem_zero(sizeof(*a));
	a->run = run;
	a->is_reported = is_reported;
	a->views = is_reported ? views_new() : NULL;
	analyzer_start(&a->analyzer, run->tables, run->frames);
	a->analyzer.timeline.pid = run->pid;
	a->analyzer.look = find_critical;
	a->analyzer.look_context = &a->critical;
	a->training = run->training;
	return a;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	analyzer_free(&a->analyzer);
	block_summary_free(&a->blocks);
	critical_spans_free(&a->critical);
	views_free(a->views);
	free(a);
}

/* Drops the steps so far if training has begun since they were added. An evaluation before the
 * training must not count in any figure. */
static void mind_training(struct analysis *a)
{
	if (a->training == a->run->training)
		return;
	analyzer_restart(&a->analyzer);
	block_summary_free(&a->blocks);
	views_free(a->views);
	a->views = a->is_reported ? views_new() : NULL;
	a->training = a->run->training;
}

/* Returns whether this is the part of the run before the first step or after the last one. These
 * parts are not steps. A run without any step is analyzed as one part. */
static bool is_left_over(const struct analysis *a, const struct model_step *m)
{
	return m->part == MODEL_SET_UP || (m->part == MODEL_REST && a->analyzer.timeline.steps.n);
}

/* Returns whether the step's times count. A step whose end is unknown looks shorter than it is, so
 * its times count only if no step was kept before it. */
static bool is_whole(const struct analysis *a, const struct model_step *m)
{
	return !m->has_no_end || !a->analyzer.timeline.steps.n;
}

const struct analyzed_step *analysis_step(struct analysis *a, const struct model_step *m)
{
	mind_training(a);
	bool counts = a->is_reported && !is_left_over(a, m) && m->number >= a->run->trains_from;
	bool is_kept = is_whole(a, m);
	const struct analyzed_step *step = analyzer_add(&a->analyzer, m, counts && is_kept);
	/* A step that lasts until the process exits also frees what the process still holds. What a
	 * killed process held counts. */
	if (counts && (is_kept || m->is_cut))
		block_summary_add(&a->blocks, m, step->phases, a->analyzer.timeline.frames);
	if (counts && is_kept)
		views_add(a->views, step);
	return step;
}

size_t analysis_n_steps(struct analysis *a)
{
	mind_training(a);
	return a->analyzer.timeline.steps.n;
}

/* Compares recorded steps with unrecorded ones, to find what recording costs. If the recorded steps
 * are part of the warm-up, they cannot be compared with later steps, and the ratios are 1. */
static void compare_steps(struct analysis *a)
{
	struct findings f = { 0 };
	struct cost_found cost = cost_find(&a->run->cost);
	step_times_fill(&f, &a->run->baseline, &a->run->recorded_step_ms);
	a->analyzer.timeline.recording_ratio = f.recorded_in_warm_up ? 1 : cost_ratio(&cost);
	a->analyzer.timeline.disturbed_ratio = f.recorded_in_warm_up ? 1 : cost_disturbed(&cost);
	findings_free(&f);
}

struct timeline *analysis_timeline(struct analysis *a)
{
	compare_steps(a);
	return &a->analyzer.timeline;
}

/* ---- The report ---- */

void analysis_report(struct analysis *a, struct report_process *to)
{
	mind_training(a);
	struct findings f = { .timeline = analysis_timeline(a), .verdict = VERDICT_UNKNOWN };
	work_begin("summarizing", 0);
	if (a->analyzer.timeline.steps.n)
		summary_fill(&f, &a->analyzer.timeline);
	work_begin("estimating savings", 0);
	block_summary_fill(&a->blocks, &f, a->run);
	summary_fill_run(&f, a->run);
	summary_fill_failure(&f, a->run);
	if (!strcmp(to->facts.steps.detector, "auto"))
		f.work_times = step_times_work(f.timeline, (double)to->facts.steps.period);
	if (a->analyzer.timeline.steps.n)
		replay_fill(&f);
	report_fill(to, &f);
	findings_free(&f);
}

void analysis_report_views(struct analysis *a, struct report_process *to)
{
	mind_training(a);
	json_decref(to->views);
	to->views = views_json(a->views, a->run);
}
