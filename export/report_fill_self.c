/* Fills in the profiler's overhead and losses, and what is not available, in a process's report.
 * See report_fill.h. */
#include "export/report_fill_parts.h"

#include <math.h>

/* ---- Cost and losses ---- */

/* Returns the recording overhead of a step divided by the step's calls. The overhead includes the
 * work of CUPTI, and the effect of cache lines that recording displaces. */
static double ns_per_call(const struct findings *f)
{
	const struct timeline *t = f->timeline;
	if (!f->cost.is_known || !t || !t->steps.n || !t->calls.n)
		return NAN;
	return f->cost.ms * 1e6 / ((double)t->calls.n / (double)t->steps.n);
}

static double cupti_ms(const struct findings *f)
{
	const struct timeline *t = f->timeline;
	double sum_ns = 0;
	for (size_t i = 0; t && i < t->steps.n; i++)
		sum_ns += (double)t->steps.at[i].overhead_ns;
	return t && t->steps.n ? sum_ns / 1e6 / (double)t->steps.n : NAN;
}

void fill_self(struct filler *x, struct report_process *p)
{
	const struct process_facts *facts = &p->facts;
	p->self = (struct report_self){
		.ns_per_call = ns_per_call(x->f),
		.overhead = facts_overhead(&x->f->cost),
		.dropped = facts->losses.dropped + facts->losses.dropped_by_cupti,
		.losses = facts->losses,
		.cupti = { facts->cupti.state, facts->cupti.reason, cupti_ms(x->f) },
	};
}

/* ---- Not available ---- */

enum { GAPS_OF_FACTS = 6 };

static void add_gap(struct report_process *p, const char *what, const char *why)
{
	if (*why)
		p->unavailable.at[p->unavailable.n++] = (struct report_gap){ what, why };
}

/* Returns "" if every recorded step has its trace. */
static const char *removed_traces(struct filler *x, const struct process_facts *facts)
{
	char why[160];
	int64_t n_lacking = facts->n_traces_left_out + facts->n_traces_removed;
	if (!n_lacking)
		return "";
	snprintf(why, sizeof(why),
		 "%lld recorded steps have no trace: the first steps have one, later ones at "
		 "growing distances (PROF_KEEP_TRACES, PROF_KEEP_MB)",
		 (long long)n_lacking);
	return arena_text(x->arena, why);
}

void fill_gaps(struct filler *x, struct report_process *p)
{
	const struct process_facts *facts = &p->facts;
	list_make(x->arena, &p->unavailable, x->f->unavailable.n + GAPS_OF_FACTS);
	p->unavailable.n = 0;
	add_gap(p, "parts of the record", facts->damage);
	add_gap(p, "steps", facts->diagnostic);
	add_gap(p, "GPU times", facts->cupti.reason);
	add_gap(p, "traces", facts->trouble);
	add_gap(p, "traces of all recorded steps", removed_traces(x, facts));
	for (size_t i = 0; i < x->f->unavailable.n; i++)
		add_gap(p, fill_text(x, x->f->unavailable.at[i].what),
			fill_text(x, x->f->unavailable.at[i].why));
	if (x->lacks_phases)
		add_gap(p, "phases", "no step was recorded");
}
