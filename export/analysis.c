/* See analysis.h. */
#include "export/analysis.h"

#include "core/analysis/block_summary.h"
#include "core/analysis/step_times.h"
#include "core/analysis/summary.h"
#include "core/analysis/summary_run.h"
#include "core/verdict/judge.h"
#include "export/report_fill.h"

struct analysis {
	const struct ingest *ingest;
	struct timeline timeline;
	struct block_summary blocks;
	uint32_t training; /* struct follow's, of what was added */
};

static void start(struct analysis *a)
{
	const struct ingest *f = a->ingest;
	timeline_start(&a->timeline, &f->dict, f->frames);
	a->timeline.pid = f->reader.header->pid;
	a->training = f->training;
}

static void stop(struct analysis *a)
{
	timeline_free(&a->timeline);
	block_summary_free(&a->blocks);
}

struct analysis *analysis_new(const struct ingest *f)
{
	struct analysis *a = mem_zero(sizeof(*a));
	a->ingest = f;
	start(a);
	return a;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	stop(a);
	free(a);
}

/* What was added may be of an evaluation before the training. */
static void mind_training(struct analysis *a)
{
	if (a->training == a->ingest->training)
		return;
	stop(a);
	a->blocks = (struct block_summary){ 0 };
	start(a);
}

/* What is left over at the run's begin, or at its end behind other steps, says nothing of a step. */
static bool is_left_over(const struct analysis *a, const struct model_step *m)
{
	return m->part == MODEL_SET_UP || (m->part == MODEL_REST && a->timeline.steps.n);
}

/* Without its end a step looks shorter than it is, by what its program does between two steps; but memory may be at its peak in it. */
static void add_step(struct analysis *a, struct model_step *m)
{
	if (m->has_no_end && a->timeline.steps.n)
		phases_find(&a->timeline.phases, m, a->timeline.frames);
	else
		timeline_add(&a->timeline, m);
}

void analysis_step(struct analysis *a, struct model_step *m)
{
	mind_training(a);
	if (is_left_over(a, m) || m->number < a->ingest->trains_from)
		return;
	add_step(a, m);
	block_summary_add(&a->blocks, m, &a->timeline.phases, a->timeline.frames);
}

size_t analysis_n_steps(struct analysis *a)
{
	mind_training(a);
	return a->timeline.steps.n;
}

/* Steps that were recorded in the warm-up are not to be compared with those behind it. */
static void compare_steps(struct analysis *a)
{
	struct findings f = { 0 };
	struct cost_found cost = cost_find(&a->ingest->cost);
	step_times_fill(&f, &a->ingest->baseline, &a->ingest->recorded_step_ms);
	a->timeline.recording_ratio = f.recorded_in_warm_up ? 1 : cost_ratio(&cost);
	a->timeline.disturbed_ratio = f.recorded_in_warm_up ? 1 : cost_disturbed(&cost);
}

struct timeline *analysis_timeline(struct analysis *a)
{
	compare_steps(a);
	return &a->timeline;
}

/* ---- What they tell ---- */

void analysis_report(struct analysis *a, struct report_process *to)
{
	mind_training(a);
	struct findings f = { .timeline = analysis_timeline(a), .verdict = VERDICT_UNKNOWN };
	if (a->timeline.steps.n)
		summary_fill(&f, &a->timeline);
	block_summary_fill(&a->blocks, &f, a->ingest);
	summary_fill_run(&f, a->ingest);
	if (a->timeline.steps.n)
		replay_fill(&f);
	report_fill(to, &f);
	findings_free(&f);
}
