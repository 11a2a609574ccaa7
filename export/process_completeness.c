/* Describes how many launches of a process have GPU times, and why others have none. */
#include "export/process.h"

#include <inttypes.h>
#include <math.h>

enum { STEPS_LISTED = 4096, WHY_BYTES = 400 };

static bool cupti_is_off(const struct process *p)
{
	const char *setting = tables_fact(driver_run(p->driver)->tables, "PROF_CUPTI");
	return setting && !strcmp(setting, "off");
}

/* Writes the reason and what to do about it. */
static void explain(char *to, size_t bytes, const struct process *p,
		    const struct process_facts *facts, enum launch_lack lack)
{
	switch (lack) {
	case LACK_OFF:
		snprintf(to, bytes, "%s",
			 cupti_is_off(p) ? "PROF_CUPTI=off: remove it to record GPU times"
					 : "GPU timing was off; set PROF_STEP, or record later "
					   "steps (skip_first= in PROF_SCHEDULE)");
		break;
	case LACK_GRAPHS:
		snprintf(to, bytes,
			 "GPU timing was off while the program made CUDA graphs; "
			 "PROF_SCHEDULE=always keeps it on");
		break;
	case LACK_OVERWRITTEN:
		snprintf(to, bytes,
			 "the journal's first records were overwritten during the run, and the "
			 "program did not wait for the GPU since; raise PROF_BUFFER_MB");
		break;
	case LACK_YIELDED:
		snprintf(to, bytes,
			 "the program's own profiler (such as torch.profiler) owned CUPTI");
		break;
	case LACK_UNAVAILABLE:
		snprintf(to, bytes, "%s",
			 *facts->cupti.reason ? facts->cupti.reason : "CUPTI is not available");
		break;
	case LACK_DROPPED:
		snprintf(to, bytes,
			 "%" PRId64 " records were dropped because the journal was full; raise "
			 "PROF_BUFFER_MB",
			 facts->losses.dropped);
		break;
	case LACK_CUPTI:
		snprintf(to, bytes,
			 "CUPTI dropped %" PRId64 " records; record fewer steps at a time (active= "
			 "in PROF_SCHEDULE)",
			 facts->losses.dropped_by_cupti);
		break;
	case LACK_KILLED:
		snprintf(to, bytes,
			 "the process was killed before CUPTI delivered their records; record "
			 "earlier steps (skip_first= in PROF_SCHEDULE)");
		break;
	case LACK_PAIR:
		snprintf(to, bytes, "%s",
			 *facts->cupti.graph_ids ? facts->cupti.graph_ids
			 : *facts->cupti.times	 ? facts->cupti.times
						 : "GPU work was recorded but could not be matched "
						   "to them; set PROF_PAIRING=external");
		break;
	default:
		snprintf(to, bytes,
			 "CUPTI delivered no records of them; record more warm-up steps (warmup= "
			 "in PROF_SCHEDULE)");
	}
}

/* Writes why graph kernels have no captured line. */
static void explain_graphs(char *to, size_t bytes, const struct process *p,
			   const struct process_facts *facts, const struct graph_counts *c)
{
	const char *stacks = tables_fact(driver_run(p->driver)->tables, "PROF_STACKS");
	switch (graph_counts_lack(c)) {
	case GRAPH_LACK_MADE:
		snprintf(to, bytes,
			 "their graphs were made before profrun was set up, or by a "
			 "function that it does not hook");
		break;
	case GRAPH_LACK_NODE:
		snprintf(to, bytes, "their nodes were made by calls that profrun does not record");
		break;
	case GRAPH_LACK_IDS:
		snprintf(to, bytes,
			 "the ids of their nodes disagree with the calls that were "
			 "captured");
		break;
	case GRAPH_LACK_CHANGED:
		snprintf(to, bytes, "their nodes got new parameters after they were made");
		break;
	case GRAPH_LACK_DROPPED:
		snprintf(to, bytes,
			 "%" PRId64 " records were dropped because the journal was full; raise "
			 "PROF_BUFFER_MB",
			 facts->losses.dropped);
		break;
	case GRAPH_LACK_STACK:
		snprintf(to, bytes, "no stacks were taken%s%s", stacks ? ": PROF_STACKS=" : "",
			 stacks ? stacks : "");
		break;
	case GRAPH_LACK_LAUNCH:
	default:
		snprintf(to, bytes, "%s",
			 *facts->cupti.graph_ids ? facts->cupti.graph_ids
						 : "it is not known which launch ran them");
	}
}

static const char *graphs_why(const struct process *p, const struct process_facts *facts,
			      const struct graph_counts *c, struct arena *a)
{
	char why[WHY_BYTES] = "";
	if (c->n_named < c->n)
		explain_graphs(why, sizeof(why), p, facts, c);
	return arena_text(a, why);
}

/* Lists the steps of a window, at most `most` of them: the first ones and the last one. */
static void list_steps(struct facts_window *to, const struct completeness_window *from, size_t most,
		       struct arena *a)
{
	uint64_t n = from->last - from->first + 1;
	list_make(a, &to->steps, n < most ? n : most);
	for (size_t i = 0; i < to->steps.n; i++)
		to->steps.at[i] = (int64_t)(from->first + i);
	to->steps.at[to->steps.n - 1] = (int64_t)from->last;
}

void process_describe_completeness(const struct process *p, struct process_facts *to,
				   struct arena *a)
{
	const struct completeness *c = &p->completeness;
	struct facts_completeness *said = &to->completeness;
	size_t most = c->windows.n ? STEPS_LISTED / c->windows.n : 0;
	said->launches = (int64_t)c->total.n;
	said->captured = (int64_t)c->total.n_captured;
	said->pct = c->total.n ? 100.0 * (double)c->total.n_captured / (double)c->total.n : NAN;
	said->graph_kernels = (int64_t)c->graphs.n;
	said->graph_captured = (int64_t)c->graphs.n_named;
	said->graph_why = graphs_why(p, to, &c->graphs, a);
	list_make(a, &said->windows, c->windows.n);
	for (size_t i = 0; i < c->windows.n; i++) {
		const struct completeness_window *from = &c->windows.at[i];
		struct facts_window *window = &said->windows.at[i];
		char why[WHY_BYTES] = "";
		if (from->launches.n_captured < from->launches.n)
			explain(why, sizeof(why), p, to, launch_counts_lack(&from->launches));
		*window = (struct facts_window){ .launches = (int64_t)from->launches.n,
						 .captured = (int64_t)from->launches.n_captured,
						 .why = arena_text(a, why),
						 .graph_kernels = (int64_t)from->graphs.n,
						 .graph_captured = (int64_t)from->graphs.n_named,
						 .graph_why = graphs_why(p, to, &from->graphs, a) };
		list_steps(window, from, most, a);
	}
}
