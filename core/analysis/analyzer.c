/* See analyzer.h. */
#include "core/analysis/analyzer.h"

#include "core/analysis/step_loop.h"

void analyzer_start(struct analyzer *a, const struct tables *tables, struct frames *frames)
{
	memset(a, 0, sizeof(*a));
	timeline_start(&a->timeline, tables, frames);
	a->idle = idle_tracker_new();
}

void analyzer_free(struct analyzer *a)
{
	idle_step_free(&a->idle_step);
	call_code_free(&a->code);
	captured_free(&a->captured);
	idle_tracker_free(a->idle);
	timeline_free(&a->timeline);
}

void analyzer_restart(struct analyzer *a)
{
	const struct tables *tables = a->timeline.tables;
	struct frames *frames = a->timeline.frames;
	uint32_t pid = a->timeline.pid;
	const struct critical_spans *(*look)(void *, const struct timeline *) = a->look;
	void *look_context = a->look_context;
	analyzer_free(a);
	analyzer_start(a, tables, frames);
	a->timeline.pid = pid;
	a->look = look;
	a->look_context = look_context;
}

/* ---- Sums ---- */

/* Returns prefix sums of GPU time: entry i is the GPU time of all calls before call i, in ns. Works
 * of graphs are left out if their captured calls are known. The array has one entry more than there
 * are calls. The caller frees it. */
static uint64_t *gpu_sums(const struct model_step *m)
{
	uint64_t *sums = mem_zero((m->calls.n + 1) * sizeof(*sums));
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->kind != WORK_SYNC && w->call < m->calls.n &&
		    model_work_origin(m, w) == MODEL_NO_CALL)
			sums[w->call + 1] += w->end_ns - w->begin_ns;
	}
	for (size_t i = 0; i < m->calls.n; i++)
		sums[i + 1] += sums[i];
	return sums;
}

static void add_modules(struct analyzer *a, const struct model_step *m, const uint64_t *gpu_ns)
{
	struct timeline *t = &a->timeline;
	const struct call_code *c = &a->code;
	for (size_t i = 0; i < m->threads.n; i++)
		module_sums_add_thread(&t->modules, &c->threads.at[i].modules, NULL, &t->texts);
	for (size_t i = 0; i < m->calls.n; i++)
		module_sums_add_gpu(&t->modules, c->places.at[i].module, c->tied.at[i].module,
				    gpu_ns[i + 1] - gpu_ns[i], false);
}

static void add_sums(struct analyzer *a, const struct model_step *m, uint32_t first_captured)
{
	struct timeline *t = &a->timeline;
	uint64_t *gpu_ns = gpu_sums(m);
	const uint8_t *parts = m->captured.n ? a->captured.part_of_call.at : NULL;
	phase_sums_add(&t->phase_sums, &a->code.phases, m, parts);
	vec_push(&t->phases_of_step, (struct phase_sums){ 0 });
	phase_sums_add(&t->phases_of_step.at[t->phases_of_step.n - 1], &a->code.phases, m, parts);
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct span_list *spans = &a->code.threads.at[i].spans;
		operator_sums_add(&t->operators, spans, gpu_ns, NULL, &t->texts);
		operator_runs_add(&t->runs, m, i, spans, &t->texts);
	}
	add_modules(a, m, gpu_ns);
	captured_add_sums(&a->captured, t, m, first_captured);
	idle_sums_add(&t->idle, &a->idle_step, (uint32_t)t->steps.n - 1, t->calls.n);
	host_sums_add(&t->host, a->idle_step.host);
	free(gpu_ns);
}

static uint32_t narrow(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* Notes what the CPU did before each call of the step, and for how long it was waited for. */
static void note_before_calls(struct analyzer *a)
{
	struct timeline *t = &a->timeline;
	const struct lane_samples *s = a->idle_step.host;
	size_t first = t->steps.at[t->steps.n - 1].first_call;
	for (size_t i = 0; i < s->before.n; i++) {
		t->calls.at[first + i].before_kind = s->before.at[i].kind;
		t->calls.at[first + i].before_site = s->before.at[i].site;
	}
	const struct contention *c = a->idle_step.contention;
	for (size_t i = 0; i < c->calls.n; i++) {
		const struct waited_call *waited = &c->calls.at[i];
		t->calls.at[first + i].waited_before_ns = narrow(waited->before_all_ns);
		t->calls.at[first + i].waited_within_ns = narrow(waited->within.ns);
	}
}

/* ---- Adding a step ---- */

/* Finds out whether the loop of the steps is in a library. If it is, the library's lines are the
 * sites of this step's calls. */
static void find_loop(struct analyzer *a, const struct model_step *m)
{
	struct frames *frames = a->timeline.frames;
	const struct frame *loop = frames ? step_loop_find(m, frames) : NULL;
	if (loop && frames_add_loop(frames, loop))
		timeline_find_sites(&a->timeline);
}

const struct analyzed_step *analyzer_add(struct analyzer *a, const struct model_step *m, bool keep)
{
	struct timeline *t = &a->timeline;
	struct timeline_mark mark = timeline_mark(t);
	bool has_room = timeline_has_room(t, m);
	find_loop(a, m);
	uint32_t *call_of = timeline_add_events(t, m);
	uint32_t first_captured = (uint32_t)mark.captured;
	call_code_find(&a->code, t, m, t->calls.at, call_of);
	captured_find(&a->captured, t, m, first_captured);
	idle_explain_step(a->idle, t, mark.earlier, &a->idle_step);
	note_before_calls(a);
	const struct critical_spans *critical = a->look ? a->look(a->look_context, t) : NULL;
	t->n_cut += keep && !has_room;
	if (keep && has_room) {
		add_sums(a, m, first_captured);
	} else {
		timeline_rewind(t, &mark);
		idle_tracker_forget_step(a->idle);
	}
	free(call_of);
	a->step = (struct analyzed_step){
		.model = m,
		.threads = a->code.threads.at,
		.phases = &a->code.phases,
		.tied = a->code.tied.at,
		.captured = a->captured.at.at,
		.idle = &a->idle_step,
		.timeline = t,
		.critical = critical,
	};
	return &a->step;
}
