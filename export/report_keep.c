/* See report_keep.h. */
#include "export/report_keep.h"

#include "core/runtime/clock.h"
#include "export/report_fill.h"

enum {
	EVERY_MS = 2000,
	STOPPING_MS = 1000,	     /* after SIGTERM the collector has 2 s */
	UNRECORDED_EVERY_MS = 10000, /* for the times of all steps */
	COST_SHARE = 100, /* reports take at most a hundredth of the time, because making one
			   * keeps a core busy */
};

/* Returns whether the next report would take too long for a collector that must end. It takes in
 * proportion to its steps as long as the previous one, at least. */
static bool takes_too_long(const struct report_keep *k, const struct process *p)
{
	double growth = k->n_steps ? (double)analysis_n_steps(p->analysis) / (double)k->n_steps : 1;
	return k->report && driver_must_stop() && (double)k->took_ms * growth > STOPPING_MS;
}

static bool is_due(const struct report_keep *k, const struct process *p, uint64_t now_ms,
		   bool is_last)
{
	if (k->is_final || !p->analysis || takes_too_long(k, p))
		return false;
	if (driver_is_finished(p->driver) || is_last)
		return true;
	bool has_more = k->report && driver_boundaries(p->driver) != k->n_boundaries &&
			now_ms - k->made_ms >= UNRECORDED_EVERY_MS;
	return (analysis_n_steps(p->analysis) != k->n_steps || has_more ||
		driver_run(p->driver)->training != k->training) &&
	       now_ms >= k->next_ms;
}

bool report_keep_update(struct report_keep *k, struct process *p, uint64_t now_ms, bool is_last)
{
	if (!is_due(k, p, now_ms, is_last))
		return false;
	uint64_t begin_ms = clock_ms();
	report_process_drop(k->report);
	k->report = report_process_new();
	process_describe(p, &k->report->facts, &k->report->arena);
	analysis_report(p->analysis, k->report);
	if (driver_is_finished(p->driver) || is_last)
		analysis_report_views(p->analysis, k->report);
	k->n_steps = analysis_n_steps(p->analysis);
	k->training = driver_run(p->driver)->training;
	k->n_boundaries = driver_boundaries(p->driver);
	uint64_t end_ms = clock_ms(), rest_ms = (end_ms - begin_ms) * COST_SHARE;
	k->made_ms = end_ms;
	k->took_ms = end_ms - begin_ms;
	k->next_ms = end_ms + (rest_ms > EVERY_MS ? rest_ms : EVERY_MS);
	if (driver_is_finished(p->driver)) { /* no more steps will be added */
		k->is_final = true;
		process_forget_analysis(p);
	}
	return true;
}

struct report_process *report_keep_get(const struct report_keep *k, const struct process *p)
{
	if (k->report)
		return report_process_hold(k->report);
	struct report_process *report = report_process_new();
	process_describe(p, &report->facts, &report->arena);
	report_fill(report, NULL);
	return report;
}
