/* See report_fill.h. A value that is not known becomes NAN, "" or NULL, never a made-up number. */
#include "export/report_fill.h"

#include "core/analysis/host_kinds.h"
#include "export/report_fill_parts.h"
#include "export/report_gains.h"

#include <math.h>
#include <string.h>

/* A longer step is of a damaged journal. */
#define LENGTH_MOST_NS 9e18

/* ---- Places ---- */

/* Returns "train.py:42", or the function if the line is not known, or "". */
static const char *where(struct filler *x, const struct report_place *p)
{
	char text[4096];
	if (!*p->file || p->line < 0)
		return p->function;
	snprintf(text, sizeof(text), "%s:%lld", p->file, (long long)p->line);
	return arena_text(x->arena, text);
}

static const char *source(struct filler *x, uint32_t site)
{
	const struct site *s = fill_site(x, site);
	return s && s->line ? fill_text(x, frames_source(x->f->timeline->frames, s->file, s->line))
			    : "";
}

static struct report_place *inner(struct filler *x, const struct frame *frame)
{
	if (!frame)
		return NULL;
	struct report_place *p = arena_zero(x->arena, sizeof(*p));
	*p = (struct report_place){ fill_text(x, frame->file), frame->line,
				    fill_text(x, frame->function) };
	return p;
}

static struct report_place *called_from(struct filler *x, uint32_t site)
{
	const struct site *s = fill_site(x, site);
	if (!s || !s->from)
		return NULL;
	struct report_place *p = arena_zero(x->arena, sizeof(*p));
	*p = fill_place(x, s->from);
	return p;
}

static struct report_place *place_or_null(struct filler *x, uint32_t site)
{
	if (!site)
		return NULL;
	struct report_place *p = arena_zero(x->arena, sizeof(*p));
	*p = fill_place(x, site);
	return p;
}

/* Returns NAN if there are no GPU times, else `value`. */
static double device(const struct filler *x, double value)
{
	return x->f->gpus.n ? value : NAN;
}

/* Returns NAN if the verdict refers to all recorded steps, else `value`. */
static double typical(const struct filler *x, double value)
{
	return x->f->n_typical < x->f->n_played && !x->f->is_of_all ? value : NAN;
}

/* ---- Steps ---- */

static struct sample_summary *step_times(struct filler *x, const struct sample_summary *s)
{
	if (!s->n)
		return NULL;
	struct sample_summary *to = arena_zero(x->arena, sizeof(*to));
	*to = *s;
	return to;
}

static struct report_slow_steps *slow_steps(struct filler *x, const struct finding_slow *s)
{
	size_t most = sizeof(s->recorded) / sizeof(*s->recorded);
	if (!s->n)
		return NULL;
	struct report_slow_steps *to = arena_zero(x->arena, sizeof(*to));
	*to = (struct report_slow_steps){ .n = (int64_t)s->n,
					  .of = (int64_t)s->n_of,
					  .times = s->times,
					  .time_pct = s->pct,
					  .least_ms = s->least_ms,
					  .other_most_ms = s->other_most_ms,
					  .n_recorded = (int64_t)s->n_recorded,
					  .n_of_load = (int64_t)s->n_of_load };
	list_make(x->arena, &to->recorded, s->n_recorded < most ? s->n_recorded : most);
	for (size_t i = 0; i < to->recorded.n; i++)
		to->recorded.at[i] = (int64_t)s->recorded[i];
	return to;
}

static const char *verdict_name(unsigned verdict)
{
	static const char *const names[] = {
#define X(id, name) [VERDICT_##id] = name,
		VERDICTS(X)
#undef X
	};
	return verdict < VERDICTS_N ? names[verdict] : "unknown";
}

static const char *pause_cause(const struct finding_pause *p)
{
	if (p->is_of_load)
		return idle_causes[IDLE_CONTENTION].name;
	return p->is_sampled ? idle_causes[p->cause].name : "";
}

static void fill_steps(struct filler *x, struct report_process *p)
{
	const struct findings *f = x->f;
	p->baseline = (struct report_baseline){
		.step_ms = step_times(x, &f->baseline),
		.warm_up_ms = step_times(x, &f->warm_up),
		.recorded_ms = step_times(x, &f->recorded),
		.slow_steps = slow_steps(x, &f->slow),
		.work_times = f->work_times > 0 ? f->work_times : NAN,
		.recorded_in_warm_up = f->recorded_in_warm_up,
		.recorded_warm_up_steps = (int64_t)f->n_recorded_warm_up,
	};
	list_make(x->arena, &p->baseline.lengths_ns, f->lengths.n);
	for (size_t i = 0; i < f->lengths.n; i++) {
		double ns = round((double)f->lengths.at[i] * 1e6);
		p->baseline.lengths_ns.at[i] = (int64_t)fmin(ns, LENGTH_MOST_NS);
	}
	list_make(x->arena, &p->baseline.pauses, f->pauses.n);
	for (size_t i = 0; i < f->pauses.n; i++) {
		const struct finding_pause *from = &f->pauses.at[i];
		p->baseline.pauses.at[i] = (struct report_pause){ (int64_t)from->number, from->ms,
								  from->is_gap, pause_cause(from),
								  fill_place(x, from->site) };
	}
	if (f->drift.first_ms > 0) {
		p->baseline.drift = arena_zero(x->arena, sizeof(*p->baseline.drift));
		*p->baseline.drift = (struct report_drift){ f->drift.first_ms, f->drift.last_ms };
	}
	if (f->catch_up.n) {
		p->baseline.catch_up = arena_zero(x->arena, sizeof(*p->baseline.catch_up));
		*p->baseline.catch_up = (struct report_catch_up){ (int64_t)f->catch_up.n,
								  (int64_t)f->catch_up.n_of };
	}
	p->bound = (struct report_bound){
		.verdict = verdict_name(f->verdict),
		.confidence = f->confidence,
		.input_source = f->input_source ? f->input_source : "",
		.gil_holder = place_or_null(x, f->gil_holder),
		.is_of_all = f->is_of_all,
		.typical_verdict = f->is_of_all ? verdict_name(f->typical_verdict) : "",
		.typical_steps = f->n_typical,
		.steps = f->n_played,
		.left_out_pct = f->n_played ? 100 * f->left_out_share : NAN
	};
	list_make(x->arena, &p->bound.between, f->between.n);
	for (size_t i = 0; i < f->between.n; i++)
		p->bound.between.at[i] = verdict_name(f->between.at[i]);
	list_make(x->arena, &p->bound.savings, f->savings.n);
	for (size_t i = 0; i < f->savings.n; i++) {
		const struct finding_saving *s = &f->savings.at[i];
		p->bound.savings.at[i] = (struct report_saving){ verdict_name(s->resource),
								 s->ms,
								 { s->low_ms, s->high_ms } };
	}
	list_make(x->arena, &p->bound.evidence, f->evidence.n);
	for (size_t i = 0; i < f->evidence.n; i++)
		p->bound.evidence.at[i] = fill_text(x, f->evidence.at[i].text);
}

/* ---- The GPU's time ---- */

static void fill_gpus(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->gpu, x->f->gpus.n);
	for (size_t i = 0; i < p->gpu.n; i++) {
		const struct finding_gpu *g = &x->f->gpus.at[i];
		p->gpu.at[i] = (struct report_gpu){
			.device = g->device,
			.busy_pct = g->busy_pct,
			.busy_ms = g->busy_ms,
			.idle_ms = g->idle_ms,
			.late_ms = g->late_ms,
			.kernels = g->kernels,
			.tensor_core_pct = g->tensor_core_pct < 0 ? NAN : g->tensor_core_pct,
			.hidden_communication_pct = g->hidden_pct < 0 ? NAN : g->hidden_pct,
			.sm_efficiency_pct = g->sm_pct,
			.occupancy_pct = g->occupancy_pct,
			.typical_busy_ms = typical(x, g->typical_busy_ms),
			.typical_idle_ms = typical(x, g->typical_idle_ms),
			.typical_kernels = typical(x, g->typical_kernels),
		};
	}
}

static void fill_use(struct filler *x, struct report_process *p)
{
	char name[120];
	list_make(x->arena, &p->use, x->f->use.n);
	for (size_t i = 0; i < p->use.n; i++) {
		const struct finding_use *u = &x->f->use.at[i];
		finding_use_name(name, sizeof(name), u->bits);
		p->use.at[i] = (struct report_use){ u->device, fill_text(x, name), u->ms, u->pct };
	}
}

static void fill_idle(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->idle, x->f->idle.n);
	for (size_t i = 0; i < p->idle.n; i++) {
		const struct finding_idle *from = &x->f->idle.at[i];
		struct report_idle *to = &p->idle.at[i];
		*to = (struct report_idle){
			.cause = idle_causes[from->cause < IDLE_CAUSES_N ? from->cause
									 : IDLE_UNKNOWN]
					 .name,
			.device = from->device,
			.ms = from->ms,
			.pct = from->pct,
			.typical_ms = typical(x, from->typical_ms),
			.place = fill_place(x, from->site),
			.after = place_or_null(x, from->before_site),
		};
		to->where = where(x, &to->place);
	}
}

static void fill_stack(struct filler *x, struct report_sync *to, uint32_t id)
{
	enum { MOST_FRAMES = 64 };
	struct frame_list frames = { 0 };
	if (x->f->timeline)
		frames = frames_of(x->f->timeline->frames, id);
	list_make(x->arena, &to->stack, frames.n < MOST_FRAMES ? frames.n : MOST_FRAMES);
	for (size_t i = 0; i < to->stack.n; i++) {
		const struct frame *from = frames.at[i];
		to->stack.at[i] = (struct report_frame){
			.place = { fill_text(x, from->file), fill_line(from->line),
				   fill_text(x, from->function) },
			.module = fill_text(x, from->module),
			.is_library = from->is_library,
		};
	}
}

static void fill_syncs(struct filler *x, struct report_process *p)
{
	static const char *const names[] = {
#define X(id, name) [SYNC_##id] = name,
		SYNC_KINDS(X)
#undef X
	};
	list_make(x->arena, &p->syncs, x->f->syncs.n);
	for (size_t i = 0; i < p->syncs.n; i++) {
		const struct finding_sync *s = &x->f->syncs.at[i];
		p->syncs.at[i] = (struct report_sync){
			.place = fill_place(x, s->site),
			.source = source(x, s->site),
			.api = fill_text(x, s->api),
			.kind = s->kind < SYNC_KINDS_N ? names[s->kind] : "library",
			.per_step = s->per_step,
			.blocked_ms = s->blocked_ms,
			.gpu_idle_ms = device(x, s->gpu_idle_ms),
			.recoverable_ms = device(x, s->recoverable_ms),
			.line_ms = device(x, s->line_ms),
			.inner = inner(x, s->inner),
			.called_from = called_from(x, s->site),
		};
		fill_stack(x, &p->syncs.at[i], s->stack);
	}
}

/* ---- Code and work ---- */

/* GPU time in graphs is left out of programs without graphs. */
static double in_graphs(const struct filler *x, double ms)
{
	return ms > 0 ? device(x, ms) : NAN;
}

static void fill_phase(struct filler *x, struct report_phase *to, const struct finding_phase *from)
{
	*to = (struct report_phase){ .name = fill_text(x, from->name),
				     .host_ms = from->host_ms,
				     .gpu_ms = device(x, from->gpu_ms),
				     .graph_gpu_ms = in_graphs(x, from->graph_gpu_ms),
				     .typical_host_ms = typical(x, from->typical_host_ms) };
	list_make(x->arena, &to->parts, from->n_parts);
	for (size_t i = 0; i < to->parts.n; i++)
		to->parts.at[i] = (struct report_phase_part){
			.name = fill_text(x, from->parts[i].name),
			.host_ms = from->parts[i].host_ms,
			.gpu_ms = device(x, from->parts[i].gpu_ms),
			.graph_gpu_ms = in_graphs(x, from->parts[i].graph_gpu_ms),
		};
}

/* Leaves out the phases if no step was recorded. Otherwise the program's imports would count as
 * data loading. */
static void fill_phases(struct filler *x, struct report_process *p)
{
	x->lacks_phases = x->f->phases.n && !p->facts.steps.recorded.n;
	list_make(x->arena, &p->phases, x->lacks_phases ? 0 : x->f->phases.n);
	for (size_t i = 0; i < p->phases.n; i++)
		fill_phase(x, &p->phases.at[i], &x->f->phases.at[i]);
}

/* The amount of arithmetic is known only for calls of libraries, and never with PROF_BLAS=off. */
static struct report_arithmetic arithmetic(const struct finding_arithmetic *a)
{
	return (struct report_arithmetic){ .flops = a->flops > 0 ? a->flops : NAN,
					   .tflops = a->tflops > 0 ? a->tflops : NAN,
					   .peak_pct = a->peak_pct > 0 ? a->peak_pct : NAN };
}

static void fill_operators(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->operators, x->f->operators.n);
	for (size_t i = 0; i < p->operators.n; i++) {
		const struct finding_operator *from = &x->f->operators.at[i];
		p->operators.at[i] =
			(struct report_operator){ .name = fill_text(x, from->name),
						  .per_step = from->per_step,
						  .gpu_ms = device(x, from->gpu_ms),
						  .host_ms = from->host_ms,
						  .self_gpu_ms = device(x, from->self_gpu_ms),
						  .graph_gpu_ms = in_graphs(x, from->graph_gpu_ms),
						  .self_host_ms = from->self_host_ms,
						  .arithmetic = arithmetic(&from->arithmetic) };
	}
}

static void fill_calls(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->calls, x->f->calls.n);
	for (size_t i = 0; i < p->calls.n; i++) {
		const struct finding_call *from = &x->f->calls.at[i];
		p->calls.at[i] = (struct report_call){ fill_text(x, from->name), from->per_step,
						       from->host_ms };
	}
}

static void fill_launches(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->launches, x->f->launches.n);
	for (size_t i = 0; i < p->launches.n; i++) {
		const struct finding_launches *from = &x->f->launches.at[i];
		p->launches.at[i] = (struct report_launches){ fill_text(x, from->name),
							      from->per_step, from->short_pct,
							      from->call_us, from->delay_us };
	}
	list_make(x->arena, &p->queues, x->f->queues.n);
	for (size_t i = 0; i < p->queues.n; i++) {
		const struct finding_queue *from = &x->f->queues.at[i];
		p->queues.at[i] =
			(struct report_queue){ from->device, from->stream, from->per_step,
					       from->mean,   from->most,   from->wait_us };
	}
}

static void fill_kernels(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->kernels, x->f->kernels.n);
	for (size_t i = 0; i < p->kernels.n; i++) {
		const struct finding_kernel *from = &x->f->kernels.at[i];
		p->kernels.at[i] =
			(struct report_kernel){ .name = fill_text(x, from->name),
						.per_step = from->per_step,
						.gpu_ms = device(x, from->gpu_ms),
						.graph_gpu_ms = in_graphs(x, from->graph_gpu_ms),
						.pct = from->pct,
						.tensor_core = from->tensor_core,
						.occupancy_pct = from->occupancy_pct,
						.arithmetic = arithmetic(&from->arithmetic) };
	}
}

static struct report_place place_of_frame(struct filler *x, const struct frame *frame)
{
	if (!frame)
		return (struct report_place){ "", -1, "" };
	return (struct report_place){ fill_text(x, frame->file), fill_line(frame->line),
				      fill_text(x, frame->function) };
}

static void fill_graphs(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->graphs, x->f->graphs.n);
	for (size_t i = 0; i < p->graphs.n; i++) {
		const struct finding_graph *from = &x->f->graphs.at[i];
		p->graphs.at[i] = (struct report_graph){
			.graph = from->graph,
			.nodes = from->nodes,
			.per_step = from->per_step,
			.gpu_ms = from->gpu_ms,
			.idle_ms = from->idle_ms,
			.steps = from->n_steps,
			.step_ms = from->step_ms > 0 ? from->step_ms : NAN,
			.place = place_of_frame(x, from->captured),
			.module = fill_text(x, from->module),
			.launched_from = place_or_null(x, from->launch_site),
			.interval_ms = from->interval_ms > 0 ? from->interval_ms : NAN,
		};
	}
}

static void fill_graph_steps(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->graph_steps, x->f->graph_steps.n);
	for (size_t i = 0; i < p->graph_steps.n; i++) {
		const struct finding_graph_steps *from = &x->f->graph_steps.at[i];
		struct report_graph_steps *to = &p->graph_steps.at[i];
		*to = (struct report_graph_steps){
			.steps = from->n_steps,
			.least = from->least,
			.most = from->most,
			.step_ms = from->step_ms > 0 ? from->step_ms : NAN,
		};
		list_make(x->arena, &to->graphs, from->n_graphs);
		for (size_t k = 0; k < to->graphs.n; k++)
			to->graphs.at[k] = x->f->step_graphs.at[from->first_graph + k];
	}
}

static void fill_lines(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->lines, x->f->lines.n);
	for (size_t i = 0; i < p->lines.n; i++) {
		const struct finding_line *from = &x->f->lines.at[i];
		p->lines.at[i] =
			(struct report_line){ .place = fill_place(x, from->site),
					      .source = source(x, from->site),
					      .module = fill_text(x, from->module),
					      .called_from = called_from(x, from->site),
					      .gpu_ms = device(x, from->gpu_ms),
					      .graph_gpu_ms = in_graphs(x, from->graph_gpu_ms),
					      .host_ms = from->host_ms,
					      .backward_gpu_ms = device(x, from->backward_gpu_ms),
					      .launches = from->launches,
					      .arithmetic = arithmetic(&from->arithmetic) };
	}
}

static void fill_host(struct filler *x, struct report_process *p)
{
	const struct timeline *t = x->f->timeline;
	const char *native = t && t->tables ? tables_fact(t->tables, "native host stacks") : NULL;
	enum { ROWS_MOST = 500 };
	size_t n = x->f->host.n;
	p->native_host_stacks = native ? fill_text(x, native) : "";
	list_make(x->arena, &p->host, n < ROWS_MOST ? n : ROWS_MOST);
	for (size_t i = 0; i < p->host.n; i++) {
		const struct finding_host *from = &x->f->host.at[i];
		const char *text = "";
		if (from->line && t)
			text = frames_source(t->frames, from->file, from->line);
		p->host.at[i] = (struct report_host){
			.place = { fill_text(x, from->file), fill_line(from->line),
				   fill_text(x, from->function) },
			.source = fill_text(x, text),
			.kind = host_kinds[from->kind].name,
			.self_ms = from->self_ms,
			.total_ms = from->total_ms,
			.user_ms = from->user_ms,
			.samples = (int64_t)from->samples,
			.native_function = fill_text(x, from->native_function),
			.native_library = fill_text(x, from->native_library),
			.after = place_or_null(x, from->after),
			.before = place_or_null(x, from->before),
		};
	}
}

static void fill_modules(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->modules, x->f->modules.n);
	for (size_t i = 0; i < p->modules.n; i++) {
		const struct finding_module *from = &x->f->modules.at[i];
		p->modules.at[i] =
			(struct report_module){ .name = fill_text(x, from->name),
						.per_step = from->per_step,
						.gpu_ms = device(x, from->gpu_ms),
						.backward_gpu_ms = device(x, from->backward_gpu_ms),
						.graph_gpu_ms = in_graphs(x, from->graph_gpu_ms),
						.host_ms = from->host_ms };
	}
	p->backward = (struct report_backward){ device(x, x->f->backward_gpu_ms),
						device(x, x->f->tied_gpu_ms) };
}

static void fill_copies(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->copies, x->f->copies.n);
	for (size_t i = 0; i < p->copies.n; i++) {
		const struct finding_copy *from = &x->f->copies.at[i];
		p->copies.at[i] = (struct report_copy){ .kind = fill_text(x, from->kind),
							.memory = fill_text(x, from->memory),
							.per_step = from->per_step,
							.bytes = from->bytes,
							.gb_per_s = from->gb_per_s,
							.blocking = from->blocking,
							.place = fill_place(x, from->site) };
	}
}

static void fill_shapes(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->shapes, x->f->shapes.n);
	for (size_t i = 0; i < p->shapes.n; i++) {
		const struct finding_shape *from = &x->f->shapes.at[i];
		double ns = from->gpu_ms * 1e6;
		p->shapes.at[i] = (struct report_shape){
			.name = fill_text(x, from->name),
			.shape = fill_text(x, from->shape),
			.type = fill_text(x, from->type),
			.per_step = from->per_step,
			.gpu_ms = device(x, from->gpu_ms),
			.flops = from->flops,
			.flops_most = from->flops_most,
			.bytes = from->bytes,
			.tflops = ns > 0 ? from->flops / ns / 1e3 : NAN,
			.gb_per_s = ns > 0 ? from->bytes / ns : NAN,
			.roofline_pct = from->roofline_pct > 0 ? from->roofline_pct : NAN,
			.bound = !(from->roofline_pct > 0) ? ""
				 : from->is_memory_bound   ? "memory"
							   : "compute"
		};
	}
}

/* The waits in collectives stay unknown here. report_meetings_join() fills them in after all ranks
 * have been read. */
static void fill_collectives(struct filler *x, struct report_process *p)
{
	const struct findings *f = x->f;
	list_make(x->arena, &p->collectives, f->collectives.n);
	for (size_t i = 0; i < p->collectives.n; i++) {
		const struct finding_collective *from = &f->collectives.at[i];
		p->collectives.at[i] =
			(struct report_collective){ .name = fill_text(x, from->name),
						    .ranks = from->n_ranks,
						    .per_step = from->per_step,
						    .bytes = from->bytes,
						    .gpu_ms = device(x, from->gpu_ms),
						    .gb_per_s = from->gb_per_s,
						    .bus_gb_per_s = from->bus_gb_per_s,
						    .bus_gb_per_s_moving = NAN,
						    .wait_ms = NAN,
						    .last_rank = -1,
						    .place = fill_place(x, from->site),
						    .source = source(x, from->site) };
	}
	p->n_gpu_steps = f->n_gpu_steps;
	list_make(x->arena, &p->arrivals, f->arrivals.n);
	for (size_t i = 0; i < p->arrivals.n; i++) {
		const struct finding_arrival *a = &f->arrivals.at[i];
		p->arrivals.at[i] = (struct report_arrival){ .comm = a->comm,
							     .sequence = a->sequence,
							     .row = a->row,
							     .begin_ns = a->begin_ns,
							     .end_ns = a->end_ns,
							     .gpu_ns = a->gpu_ns };
	}
}

static void fill_once(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->once, x->f->once.n);
	for (size_t i = 0; i < p->once.n; i++) {
		const struct finding_once *from = &x->f->once.at[i];
		p->once.at[i] = (struct report_once){ .what = fill_text(x, from->what),
						      .ms = from->ms,
						      .place = fill_place(x, from->site) };
	}
}

/* ---- The replay and the savings that it finds ---- */

static struct report_replay *replay(struct filler *x)
{
	const struct findings *f = x->f;
	if (!(f->measured_ms > 0))
		return NULL;
	struct report_replay *to = arena_zero(x->arena, sizeof(*to));
	*to = (struct report_replay){
		.measured_ms = f->measured_ms,
		.replayed_ms = f->replayed_ms,
		.error_pct = f->error_pct,
		.recorded_ms = f->recorded_ms,
		.step_ms = f->step_ms,
		.mean_ms = f->mean_ms,
		.contention_ms = f->contention_ms > 0 ? f->contention_ms : NAN,
		.disturbed_times = f->disturbed_times > 1 ? f->disturbed_times : NAN
	};
	return to;
}

/* Advice on launches and on the CPU's own work makes work faster. All other advice removes a
 * stall. The advice is sorted. */
static void fill_stall(struct filler *x, struct report_process *p)
{
	size_t i = 0;
	while (i < p->advice.n &&
	       (report_gain_is_rare(&p->advice.at[i]) || x->f->advice.at[i].cause == VERDICT_GPU ||
		x->f->advice.at[i].cause == VERDICT_LAUNCH ||
		x->f->advice.at[i].cause == VERDICT_HOST))
		i++;
	if (i == p->advice.n)
		return;
	const struct report_advice *a = &p->advice.at[i];
	p->bound.stall = arena_zero(x->arena, sizeof(*p->bound.stall));
	*p->bound.stall = (struct report_stall){ .cause = a->cause,
						 .where = a->where,
						 .ms = a->expected_ms,
						 .interval_ms = a->interval_ms,
						 .place = a->place };
}

static void fill_advice(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->advice, x->f->advice.n);
	for (size_t i = 0; i < p->advice.n; i++) {
		const struct finding_advice *a = &x->f->advice.at[i];
		struct report_advice *to = &p->advice.at[i];
		bool has_range = a->high_ms > 0;
		*to = (struct report_advice){
			.what = fill_text(x, a->what),
			.why = fill_text(x, a->why),
			.cause = verdict_name(a->cause),
			.expected_ms = a->expected_ms,
			.together_ms = a->rare_steps ? NAN : a->together_ms,
			.interval_ms = { a->interval_low_ms, a->interval_high_ms },
			.range_ms = { has_range ? a->low_ms : NAN, has_range ? a->high_ms : NAN },
			.rare_steps = a->rare_steps ? (int64_t)a->rare_steps : -1,
			.place = fill_place(x, a->site),
			.source = source(x, a->site),
			.inner = inner(x, a->inner),
			.called_from = called_from(x, a->site),
		};
		to->where = where(x, &to->place);
	}
	fill_stall(x, p);
}

static struct report_failure *failure(struct filler *x)
{
	const struct finding_failure *from = &x->f->failure;
	if (!from->status)
		return NULL;
	struct report_failure *to = arena_zero(x->arena, sizeof(*to));
	*to = (struct report_failure){
		.api = fill_text(x, from->api),
		.status = from->status,
		.bytes = from->bytes > 0 ? from->bytes : NAN,
		.held_bytes = from->held_bytes > 0 ? from->held_bytes : NAN,
		.device_bytes = from->device_bytes ? (int64_t)from->device_bytes : -1,
		.step = (int64_t)from->step,
		.place = fill_place(x, from->site),
	};
	return to;
}

static struct report_last_call *last_call(struct filler *x)
{
	const struct finding_last_call *from = &x->f->last_call;
	if (!from->api)
		return NULL;
	struct report_last_call *to = arena_zero(x->arena, sizeof(*to));
	*to = (struct report_last_call){ fill_text(x, from->api), fill_place(x, from->site) };
	return to;
}

/* ---- A process ---- */

static int64_t rank_number(const char *text)
{
	char *end;
	long value = *text ? strtol(text, &end, 10) : -1;
	return value >= 0 && !*end ? value : -1;
}

/* Returns whether the process launched no GPU work. */
static bool is_silent(const struct facts_records *r)
{
	return r && !(r->launches || r->kernels || r->memcpys || r->memsets);
}

void report_fill(struct report_process *p, const struct findings *f)
{
	static const struct findings nothing = { .verdict = VERDICT_UNKNOWN };
	struct filler x = { .f = f ? f : &nothing, .arena = &p->arena };
	p->is_silent = is_silent(p->facts.records);
	p->rank = rank_number(p->facts.rank);
	fill_steps(&x, p);
	fill_gpus(&x, p);
	fill_use(&x, p);
	fill_idle(&x, p);
	fill_syncs(&x, p);
	fill_critical(&x, p);
	fill_operators(&x, p);
	fill_calls(&x, p);
	fill_launches(&x, p);
	fill_delays(&x, p);
	fill_sequences(&x, p);
	fill_kernels(&x, p);
	fill_graphs(&x, p);
	fill_graph_steps(&x, p);
	fill_lines(&x, p);
	fill_host(&x, p);
	fill_modules(&x, p);
	fill_copies(&x, p);
	fill_shapes(&x, p);
	fill_collectives(&x, p);
	fill_phases(&x, p);
	fill_memory(&x, p);
	fill_once(&x, p);
	p->failure = failure(&x);
	p->last_call = last_call(&x);
	p->replay = replay(&x);
	fill_advice(&x, p);
	fill_self(&x, p);
	fill_gaps(&x, p);
}
