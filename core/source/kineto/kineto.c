/* See kineto.h. */
#include "core/source/kineto/kineto.h"

#include "core/source/kineto/build.h"
#include "core/source/kineto/nest.h"
#include "core/source/kineto/trace.h"
#include "core/symbols/frames.h"
#include "core/util/path.h"
#include "core/util/work.h"

#include <inttypes.h>
#include <math.h>

enum { DIAGNOSTIC_BYTES = 300 };

struct kineto {
	struct trace *trace;
	struct stacks stacks;
	struct frames *frames;
	struct cutting cutting;
	struct run run;
	struct completeness completeness;
	bool has_python, has_blocks; /* what the trace had, before its events were freed */
	uint32_t n_unread_captures;  /* files in capture_traces */
	char name[256];		     /* of the file */
	char diagnostic[DIAGNOSTIC_BYTES];
};

bool kineto_is_one(const char *path)
{
	return trace_is_one(path);
}

/* A trace without GPU work must not be analyzed as if the GPU had been idle. */
static void diagnose(struct kineto *k)
{
	const struct trace *t = k->trace;
	const struct trace_counts *c = &t->counts;
	uint64_t n = c->works[WORK_KERNEL] + c->works[WORK_MEMCPY] + c->works[WORK_MEMSET];
	if (n)
		return;
	/* the GPU's events come last in a file */
	if (*t->damage)
		snprintf(k->diagnostic, sizeof(k->diagnostic),
			 "the trace ends before its first GPU event");
	else if (c->launches)
		snprintf(k->diagnostic, sizeof(k->diagnostic),
			 CUPTI_EMPTY ": the trace has %" PRIu64 " launches and no kernel. CUPTI "
				     "delivered no GPU records; another profiler may have owned it",
			 c->launches);
	else if (c->calls)
		snprintf(k->diagnostic, sizeof(k->diagnostic),
			 "the trace has %" PRIu64 " CUDA calls, but no launches and no GPU work",
			 c->calls);
	else if (c->other_device)
		snprintf(k->diagnostic, sizeof(k->diagnostic),
			 "the trace is of a device that profrun does not know: it reads traces of "
			 "NVIDIA and AMD GPUs");
	else
		snprintf(k->diagnostic, sizeof(k->diagnostic),
			 "the trace has no CUDA calls and no GPU work: it was recorded on the CPU "
			 "alone (ProfilerActivity.CUDA was not set)");
}

static bool has_python(const struct trace *t)
{
	for (size_t i = 0; i < t->slices.n; i++)
		if (t->slices.at[i].category == EVENT_PYTHON || t->slices.at[i].call_stack)
			return true;
	return false;
}

static void start_run(struct kineto *k, const char *path)
{
	struct trace *t = k->trace;
	k->frames = frames_new(stacks_source(&k->stacks), &t->tables);
	k->run = (struct run){ .tables = &t->tables, .frames = k->frames, .pid = (uint32_t)t->pid };
	cutting_start(&k->cutting, t, k->frames, &k->stacks, path);
	k->n_unread_captures = k->cutting.captures.n_unread;
	live_blocks_total(t, &k->run.allocator);
	k->has_python = has_python(t);
	k->has_blocks = t->blocks.n;
	for (size_t i = 0; k->cutting.cuts.from != CUTS_NONE && i < k->cutting.cuts.at.n; i++) {
		const struct cut *c = &k->cutting.cuts.at.at[i];
		double ms = (double)(c->end_ns - c->begin_ns) / 1e6;
		sample_add(&k->run.step_ms, ms);
		sample_add(&k->run.recorded_step_ms, ms);
		baseline_add(&k->run.baseline, c->number, ms, true);
	}
}

int kineto_open(struct kineto **to, const char *path, struct err *e)
{
	struct kineto *k = mem_zero(sizeof(*k));
	int error = trace_load(&k->trace, path, e);
	if (error) {
		free(k);
		return error;
	}
	snprintf(k->name, sizeof(k->name), "%s", path_base(path));
	stacks_start(&k->stacks, &k->trace->tables.names);
	nest_find(k->trace, &k->stacks);
	start_run(k, path);
	diagnose(k);
	*to = k;
	return 0;
}

void kineto_close(struct kineto *k)
{
	if (!k)
		return;
	cutting_free(&k->cutting);
	run_free(&k->run);
	frames_free(k->frames);
	stacks_free(&k->stacks);
	completeness_free(&k->completeness);
	trace_free(k->trace);
	free(k);
}

const struct run *kineto_run(const struct kineto *k)
{
	return &k->run;
}

void kineto_steps(struct kineto *k, void (*take)(void *context, const struct model_step *m),
		  void *context)
{
	work_begin("analyzing steps", k->cutting.cuts.at.n);
	for (size_t i = 0; i < k->cutting.cuts.at.n && !*k->diagnostic; i++) {
		struct model_step m;
		cutting_build(&k->cutting, i, &m);
		completeness_add(&k->completeness, m.number, &m.launches, &m.graphs);
		take(context, &m);
		model_free(&m);
		work_add(1);
	}
	cutting_end(&k->cutting);
	trace_free_events(k->trace);
}

/* A trace before this time counts from another moment than the epoch. */
#define YEAR_2000_NS 946684800000000000

uint64_t kineto_began_ns(const struct kineto *k)
{
	uint64_t ns = k->trace->origin_ns + k->trace->begin_ns;
	return ns >= YEAR_2000_NS && ns <= INT64_MAX ? ns : 0;
}

const char *kineto_diagnostic(const struct kineto *k)
{
	return k->diagnostic;
}

const char *kineto_damage(const struct kineto *k)
{
	return k->trace->damage;
}

/* ---- What a trace cannot tell ---- */

const char *kineto_unavailable(const struct kineto *k, size_t i, const char **why)
{
	static const struct {
		const char *what, *why;
		bool only_without_python, only_without_blocks;
	} rows[] = {
		{ "source lines", "the trace has no Python stacks; record it with with_stack=True",
		  true, false },
		{ "overhead of recording", "a trace has no unrecorded steps to compare with", false,
		  false },
		{ "memory", "the trace has no memory events; record it with profile_memory=True",
		  false, true },
	};
	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		if ((rows[row].only_without_python && k->has_python) ||
		    (rows[row].only_without_blocks && k->has_blocks))
			continue;
		if (i--)
			continue;
		*why = rows[row].why;
		return rows[row].what;
	}
	return NULL;
}

/* ---- Facts ---- */

static struct sample_summary *summary_of(const struct sample *s, struct arena *a)
{
	if (!s->n)
		return NULL;
	struct sample_summary *to = arena_zero(a, sizeof(*to));
	*to = sample_summarize(s);
	return to;
}

static void describe_steps(const struct kineto *k, struct facts_steps *to, struct arena *a)
{
	const struct cuts *c = &k->cutting.cuts;
	to->detector = cuts_detector(c);
	if (c->from == CUTS_NONE)
		return;
	to->count = (int64_t)c->at.n;
	to->confidence = cuts_confidence(c);
	if (c->from == CUTS_ANNOTATED)
		to->annotation = arena_text(a, strtab_text(&k->trace->tables.names, c->annotation));
	if (c->from == CUTS_LAUNCHES) {
		to->period = c->found.calls_per_step;
		to->boundary = level_boundary_name(c->found.boundary);
	}
	to->last = (int64_t)c->at.at[c->at.n - 1].number;
	list_make(a, &to->recorded, c->at.n);
	for (size_t i = 0; i < c->at.n; i++)
		to->recorded.at[i] = (int64_t)c->at.at[i].number;
	to->step_ms = summary_of(&k->run.step_ms, a);
	to->recorded_step_ms = summary_of(&k->run.recorded_step_ms, a);
}

static void describe_devices(const struct kineto *k, struct process_facts *to, struct arena *a)
{
	const struct tables *t = &k->trace->tables;
	list_make(a, &to->devices, t->devices.n);
	for (size_t i = 0; i < t->devices.n; i++)
		to->devices.at[i] = (struct facts_device){ t->devices.at[i].id,
							   arena_text(a, t->devices.at[i].name) };
}

static void describe_records(const struct kineto *k, struct process_facts *to, struct arena *a)
{
	const struct trace_counts *c = &k->trace->counts;
	to->records = arena_zero(a, sizeof(*to->records));
	*to->records = (struct facts_records){
		.records = (int64_t)c->events,
		.calls = (int64_t)c->calls,
		.launches = (int64_t)c->launches,
		.kernels = (int64_t)c->works[WORK_KERNEL],
		.memcpys = (int64_t)c->works[WORK_MEMCPY],
		.memsets = (int64_t)c->works[WORK_MEMSET],
		.gpu_syncs = (int64_t)c->works[WORK_SYNC],
	};
	to->losses.calls_without_gpu_work = (int64_t)k->cutting.n_calls_without_work;
	to->losses.gpu_work_without_call = (int64_t)k->cutting.n_works_without_call;
	to->losses.damaged_places = (int64_t)c->malformed;
	to->losses.impossible_records = (int64_t)c->negative;
}

/* Returns why graph kernels have no captured line; "": all have. */
static const char *graphs_why(const struct kineto *k, const struct graph_counts *c, struct arena *a)
{
	char why[200];
	if (c->n_named == c->n)
		return "";
	snprintf(why, sizeof(why),
		 "no capture fits their graphs, or several different ones do; traces of captures "
		 "belong into a folder \"capture_traces\" next to this one");
	if (k->n_unread_captures)
		snprintf(why, sizeof(why), "%u file%s in capture_traces could not be read",
			 k->n_unread_captures, k->n_unread_captures > 1 ? "s" : "");
	return arena_text(a, why);
}

static void describe_completeness(const struct kineto *k, struct process_facts *to, struct arena *a)
{
	const struct completeness *c = &k->completeness;
	struct facts_completeness *x = &to->completeness;
	x->launches = (int64_t)c->total.n;
	x->captured = (int64_t)c->total.n_captured;
	x->pct = c->total.n ? 100.0 * (double)c->total.n_captured / (double)c->total.n : NAN;
	x->graph_kernels = (int64_t)c->graphs.n;
	x->graph_captured = (int64_t)c->graphs.n_named;
	x->graph_why = graphs_why(k, &c->graphs, a);
	list_make(a, &x->windows, c->windows.n);
	for (size_t i = 0; i < c->windows.n; i++) {
		const struct completeness_window *w = &c->windows.at[i];
		struct facts_window *out = &x->windows.at[i];
		out->launches = (int64_t)w->launches.n;
		out->captured = (int64_t)w->launches.n_captured;
		out->why = w->launches.n_captured < w->launches.n
				   ? "the trace has no GPU work with their correlation ids"
				   : "";
		out->graph_kernels = (int64_t)w->graphs.n;
		out->graph_captured = (int64_t)w->graphs.n_named;
		out->graph_why = graphs_why(k, &w->graphs, a);
		list_make(a, &out->steps, w->last - w->first + 1);
		for (size_t s = 0; s < out->steps.n; s++)
			out->steps.at[s] = (int64_t)(w->first + s);
	}
}

void kineto_describe(const struct kineto *k, struct process_facts *to, struct arena *a)
{
	const struct trace *t = k->trace;
	const char *rank = tables_fact(&t->tables, "rank");
	to->pid = t->pid;
	to->state = "ended";
	to->rank = arena_text(a, rank ? rank : "");
	to->clock = "trace";
	to->journal = arena_text(a, k->name);
	to->journal_is_whole = !*t->damage;
	to->threads = (int64_t)t->threads.n;
	to->damage = arena_text(a, t->damage);
	to->diagnostic = arena_text(a, k->diagnostic);
	to->cupti.state = !*k->diagnostic		      ? "used"
			  : t->counts.launches && !*t->damage ? CUPTI_EMPTY
							      : "no GPU work";
	describe_devices(k, to, a);
	describe_steps(k, &to->steps, a);
	describe_records(k, to, a);
	describe_completeness(k, to, a);
}
