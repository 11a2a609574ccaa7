/* See report_json.h. What is not known is null or left out, never a made-up number. */
#include "export/report_json.h"

#include "export/report_meetings.h"
#include "export/report_self.h"

#include <math.h>

/* What a figure is rounded to: nobody can measure a ten-millionth of a second of a step. */
#define MS	1e-4
#define PERCENT 1e-2
#define COUNT	1e-3
#define RATIO	1e-4
#define TFLOPS	1e-6

enum { MOST_FRAMES = 64 };

json_t *report_json_number(double value, double unit)
{
	return isfinite(value) ? json_real(round(value / unit) * unit) : json_null();
}

json_t *report_json_text(const char *text)
{
	json_t *as_it_is = json_string(text);
	if (as_it_is)
		return as_it_is;
	char *plain = mem_text(text);
	for (char *c = plain; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	json_t *cleaned = json_string(plain);
	free(plain);
	return cleaned;
}

static json_t *ms(double value)
{
	return report_json_number(value, MS);
}

/* Of a device's work, which nothing is known of where nothing was timed. */
static json_t *device_ms(const struct findings *f, double value)
{
	return f->gpus.n ? ms(value) : json_null();
}

/* ---- Where ---- */

static const struct site *site_at(const struct findings *f, uint32_t site)
{
	return site && f->timeline ? frames_site_at(f->timeline->frames, site) : NULL;
}

/* "train.py:42", or the function where there is no line, or null. */
static json_t *where(const struct site *s)
{
	if (!s)
		return json_null();
	if (*s->file && s->line) {
		char text[4096];
		snprintf(text, sizeof(text), "%s:%u", s->file, s->line);
		return report_json_text(text);
	}
	return *s->function ? report_json_text(s->function) : json_null();
}

/* file, line, function: null where not known. */
static void set_place(json_t *o, const struct findings *f, uint32_t site)
{
	const struct site *s = site_at(f, site);
	json_object_set_new(o, "file", s && *s->file ? report_json_text(s->file) : json_null());
	json_object_set_new(o, "line", s && s->line ? json_integer(s->line) : json_null());
	json_object_set_new(o, "function",
			    s && *s->function ? report_json_text(s->function) : json_null());
}

static void set_source(json_t *o, const struct findings *f, uint32_t site)
{
	const struct site *s = site_at(f, site);
	const char *text = s && s->line ? frames_source(f->timeline->frames, s->file, s->line) : "";
	json_object_set_new(o, "source", *text ? report_json_text(text) : json_null());
}

/* A library's line, or null. */
static void set_inner(json_t *o, const struct frame *x)
{
	json_object_set_new(o, "inner",
			    x ? json_pack("{s:o, s:I, s:o}", "file", report_json_text(x->file),
					  "line", (json_int_t)x->line, "function",
					  report_json_text(x->function))
			      : json_null());
}

static json_t *stack(const struct findings *f, uint32_t id)
{
	json_t *list = json_array();
	if (!f->timeline)
		return list;
	struct frame_list frames = frames_of(f->timeline->frames, id);
	for (size_t i = 0; i < frames.n && i < MOST_FRAMES; i++) {
		const struct frame *x = frames.at[i];
		json_t *o = json_object();
		json_object_set_new(o, "function", report_json_text(x->function));
		if (*x->file)
			json_object_set_new(o, "file", report_json_text(x->file));
		if (x->line)
			json_object_set_new(o, "line", json_integer(x->line));
		if (*x->module)
			json_object_set_new(o, "module", report_json_text(x->module));
		if (x->is_library)
			json_object_set_new(o, "is_library", json_true());
		json_array_append_new(list, o);
	}
	return list;
}

/* ---- Steps ---- */

static json_t *lengths(const struct finding_steps *s)
{
	if (!s->n)
		return json_null();
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "n", (json_int_t)s->n,
			 "mean", ms(s->mean), "std", ms(s->std), "cv",
			 report_json_number(s->cv, RATIO), "min", ms(s->min), "p50", ms(s->p50),
			 "p95", ms(s->p95), "p99", ms(s->p99), "max", ms(s->max));
}

static json_t *slow_steps(const struct finding_slow *s)
{
	if (!s->n)
		return json_null();
	json_t *recorded = json_array();
	for (size_t i = 0; i < s->n_recorded && i < sizeof(s->recorded) / sizeof(*s->recorded); i++)
		json_array_append_new(recorded, json_integer((json_int_t)s->recorded[i]));
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:I, s:o}", "n", (json_int_t)s->n, "of",
			 (json_int_t)s->n_of, "times", report_json_number(s->times, RATIO),
			 "time_pct", report_json_number(s->pct, PERCENT), "least_ms",
			 ms(s->least_ms), "n_recorded", (json_int_t)s->n_recorded, "recorded",
			 recorded);
}

static json_t *baseline(const struct findings *f)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:b}", "step_ms", lengths(&f->baseline),
			 "warm_up_ms", lengths(&f->warm_up), "recorded_ms", lengths(&f->recorded),
			 "slow_steps", slow_steps(&f->slow), "recorded_in_warm_up",
			 f->recorded_in_warm_up);
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

static json_t *bound(const struct findings *f)
{
	json_t *evidence = json_array();
	for (size_t i = 0; i < f->evidence.n; i++)
		json_array_append_new(evidence, report_json_text(f->evidence.at[i].text));
	return json_pack("{s:s, s:o, s:o, s:I, s:I}", "verdict", verdict_name(f->verdict),
			 "confidence", report_json_number(f->confidence, RATIO), "evidence",
			 evidence, "usual_steps", (json_int_t)f->n_typical, "steps",
			 (json_int_t)f->n_played);
}

/* ---- Ledgers ---- */

static json_t *gpus(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->gpus.n; i++) {
		const struct finding_gpu *g = &f->gpus.at[i];
		json_t *o = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "device",
				      (json_int_t)g->device, "busy_pct",
				      report_json_number(g->busy_pct, PERCENT), "busy_ms_per_step",
				      ms(g->busy_ms), "idle_ms_per_step", ms(g->idle_ms),
				      "late_ms_per_step", ms(g->late_ms), "kernels_per_step",
				      report_json_number(g->kernels, COUNT), "tensor_core_pct",
				      g->tensor_core_pct < 0
					      ? json_null()
					      : report_json_number(g->tensor_core_pct, PERCENT));
		if (f->n_typical < f->n_played) {
			json_object_set_new(o, "usual_busy_ms", ms(g->typical_busy_ms));
			json_object_set_new(o, "usual_idle_ms", ms(g->typical_idle_ms));
			json_object_set_new(o, "usual_kernels",
					    report_json_number(g->typical_kernels, COUNT));
		}
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *idle(const struct findings *f)
{
	static const char *const names[] = {
#define X(id, name) [IDLE_##id] = name,
		IDLE_CAUSES(X)
#undef X
	};
	json_t *list = json_array();
	for (size_t i = 0; i < f->idle.n; i++) {
		const struct finding_idle *x = &f->idle.at[i];
		json_t *o = json_pack("{s:s, s:I, s:o, s:o, s:o}", "cause",
				      x->cause < IDLE_CAUSES_N ? names[x->cause] : "unknown",
				      "device", (json_int_t)x->device, "ms_per_step", ms(x->ms),
				      "pct", report_json_number(x->pct, PERCENT), "where",
				      where(site_at(f, x->site)));
		if (f->n_typical < f->n_played)
			json_object_set_new(o, "usual_ms", ms(x->typical_ms));
		set_place(o, f, x->site);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *syncs(const struct findings *f)
{
	static const char *const names[] = {
#define X(id, name) [SYNC_##id] = name,
		SYNC_KINDS(X)
#undef X
	};
	json_t *list = json_array();
	for (size_t i = 0; i < f->syncs.n; i++) {
		const struct finding_sync *s = &f->syncs.at[i];
		json_t *o = json_object();
		set_place(o, f, s->site);
		set_source(o, f, s->site);
		json_object_set_new(o, "api", report_json_text(s->api ? s->api : ""));
		json_object_set_new(o, "kind",
				    json_string(s->kind < SYNC_KINDS_N ? names[s->kind]
								       : "library"));
		json_object_set_new(o, "per_step", report_json_number(s->per_step, COUNT));
		json_object_set_new(o, "blocked_ms_per_step", ms(s->blocked_ms));
		json_object_set_new(o, "gpu_idle_ms_per_step", device_ms(f, s->gpu_idle_ms));
		json_object_set_new(o, "recoverable_ms_per_step", device_ms(f, s->recoverable_ms));
		json_object_set_new(o, "line_ms_per_step", device_ms(f, s->line_ms));
		set_inner(o, s->inner);
		json_object_set_new(o, "stack", stack(f, s->stack));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *phase(const struct findings *f, const struct finding_phase *p)
{
	json_t *parts = json_array();
	for (size_t i = 0; i < p->n_parts; i++) {
		const struct finding_phase_part *x = &p->parts[i];
		json_array_append_new(parts, json_pack("{s:s, s:o, s:o}", "name", x->name,
						       "host_ms_per_step", ms(x->host_ms),
						       "gpu_ms_per_step", device_ms(f, x->gpu_ms)));
	}
	json_t *o = json_pack("{s:s, s:o, s:o, s:o}", "name", p->name, "host_ms_per_step",
			      ms(p->host_ms), "gpu_ms_per_step", device_ms(f, p->gpu_ms), "parts",
			      parts);
	if (f->n_typical < f->n_played)
		json_object_set_new(o, "usual_host_ms", ms(p->typical_host_ms));
	return o;
}

static json_t *phases(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->phases.n; i++)
		json_array_append_new(list, phase(f, &f->phases.at[i]));
	return list;
}

static json_t *known(double value, double unit)
{
	return value > 0 ? report_json_number(value, unit) : json_null();
}

/* Of a list's item. Only calls of libraries tell what they compute: of all else, or with PROF_BLAS=off, nothing is known. */
static void set_arithmetic(json_t *o, const struct finding_arithmetic *a)
{
	json_object_set_new(o, "flops", known(a->flops, 1));
	json_object_set_new(o, "tflops", known(a->tflops, TFLOPS));
	json_object_set_new(o, "peak_pct", known(a->peak_pct, PERCENT));
}

static json_t *operators(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->operators.n; i++) {
		const struct finding_operator *x = &f->operators.at[i];
		json_t *o =
			json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", report_json_text(x->name),
				  "per_step", report_json_number(x->per_step, COUNT),
				  "gpu_ms_per_step", device_ms(f, x->gpu_ms), "all_gpu_ms_per_step",
				  device_ms(f, x->all_gpu_ms), "host_ms_per_step", ms(x->host_ms));
		set_arithmetic(o, &x->arithmetic);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *kernels(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->kernels.n; i++) {
		const struct finding_kernel *x = &f->kernels.at[i];
		json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:b}", "name",
				      report_json_text(x->name), "per_step",
				      report_json_number(x->per_step, COUNT), "gpu_ms_per_step",
				      device_ms(f, x->gpu_ms), "pct",
				      report_json_number(x->pct, PERCENT), "tensor_core",
				      x->tensor_core);
		set_arithmetic(o, &x->arithmetic);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *lines(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->lines.n; i++) {
		const struct finding_line *x = &f->lines.at[i];
		json_t *o = json_object();
		set_place(o, f, x->site);
		set_source(o, f, x->site);
		json_object_set_new(o, "gpu_ms_per_step", device_ms(f, x->gpu_ms));
		json_object_set_new(o, "host_ms_per_step", ms(x->host_ms));
		json_object_set_new(o, "backward_gpu_ms_per_step",
				    device_ms(f, x->backward_gpu_ms));
		json_object_set_new(o, "launches_per_step", report_json_number(x->launches, COUNT));
		set_arithmetic(o, &x->arithmetic);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *modules(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->modules.n; i++) {
		const struct finding_module *x = &f->modules.at[i];
		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "name",
						      report_json_text(x->name), "per_step",
						      report_json_number(x->per_step, COUNT),
						      "gpu_ms_per_step", device_ms(f, x->gpu_ms),
						      "backward_gpu_ms_per_step",
						      device_ms(f, x->backward_gpu_ms),
						      "host_ms_per_step", ms(x->host_ms)));
	}
	return list;
}

/* Of autograd's work: how much of it has a line. */
static json_t *backward(const struct findings *f)
{
	return json_pack("{s:o, s:o}", "gpu_ms_per_step", device_ms(f, f->backward_gpu_ms),
			 "tied_gpu_ms_per_step", device_ms(f, f->tied_gpu_ms));
}

static json_t *copies(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->copies.n; i++) {
		const struct finding_copy *x = &f->copies.at[i];
		json_t *o =
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "kind",
				  report_json_text(x->kind), "memory", report_json_text(x->memory),
				  "per_step", report_json_number(x->per_step, COUNT),
				  "bytes_per_step", report_json_number(x->bytes, 1), "gb_per_s",
				  report_json_number(x->gb_per_s, COUNT), "blocking", x->blocking);
		set_place(o, f, x->site);
		json_array_append_new(list, o);
	}
	return list;
}

/* What of it is waiting for other ranks is known when these have been read: report_meetings.h. */
static json_t *collectives(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->collectives.n; i++) {
		const struct finding_collective *x = &f->collectives.at[i];
		json_t *o = json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:n, s:n, s:n}", "name",
				      report_json_text(x->name), "ranks", (json_int_t)x->n_ranks,
				      "per_step", report_json_number(x->per_step, COUNT),
				      "bytes_per_step", report_json_number(x->bytes, 1),
				      "gpu_ms_per_step", device_ms(f, x->gpu_ms), "gb_per_s",
				      report_json_number(x->gb_per_s, COUNT), "bus_gb_per_s",
				      report_json_number(x->bus_gb_per_s, COUNT),
				      "bus_gb_per_s_moving", "wait_ms_per_step", "last_rank");
		set_place(o, f, x->site);
		set_source(o, f, x->site);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *blocks(const struct findings *f, const struct finding_block *at, size_t n,
		      const char *bytes_name)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();
		set_place(o, f, at[i].site);
		if (at[i].what)
			json_object_set_new(o, "what", report_json_text(at[i].what));
		json_object_set_new(o, bytes_name, report_json_number(at[i].bytes, 1));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *classes(const struct finding_blocks *at, size_t n, const char *key)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:o, s:o, s:o}", key, at[i].name, "bytes",
					report_json_number(at[i].bytes, 1), "peak_bytes",
					report_json_number(at[i].peak_bytes, 1), "blocks_per_step",
					report_json_number(at[i].per_step, COUNT)));
	return list;
}

/* null: no framework's allocator reported anything. */
static json_t *allocator(const struct finding_allocator *a)
{
	if (!a->is_known)
		return json_null();
	double unused_pct =
		a->peak_reserved_bytes
			? 100 * (1 - (double)a->peak_bytes / (double)a->peak_reserved_bytes)
			: 0;
	json_t *o = json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:o, s:I}", "name", "PyTorch",
			      "device", (int)a->device, "peak_bytes", (json_int_t)a->peak_bytes,
			      "peak_reserved_bytes", (json_int_t)a->peak_reserved_bytes, "bytes",
			      (json_int_t)a->bytes, "reserved_bytes", (json_int_t)a->reserved_bytes,
			      "unused_pct", report_json_number(unused_pct, COUNT), "out_of_memory",
			      (json_int_t)a->n_out_of_memory);
	json_object_set_new(o, "recorded_peak_bytes",
			    a->is_recorded ? json_integer((json_int_t)a->recorded_peak_bytes)
					   : json_null());
	return o;
}

static json_t *growth(const struct finding_growth *g)
{
	bool is_known = g->device_bytes;
	if (!(g->bytes_per_step > 0))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "bytes_per_step",
			 report_json_number(g->bytes_per_step, 1), "device_bytes",
			 is_known ? json_integer((json_int_t)g->device_bytes) : json_null(),
			 "steps_left",
			 is_known ? report_json_number(g->steps_left, COUNT) : json_null());
}

static json_t *memory(const struct findings *f)
{
	json_t *o = json_pack("{s:I, s:o, s:o, s:o}", "device_peak_bytes",
			      (json_int_t)f->device_peak_bytes, "at_peak",
			      blocks(f, f->at_peak.at, f->at_peak.n, "bytes"), "leaks",
			      blocks(f, f->leaks.at, f->leaks.n, "bytes_per_step"), "retries",
			      report_json_number(f->retries, COUNT));
	json_object_set_new(o, "growth", growth(&f->growth));
	json_object_set_new(o, "allocator", allocator(&f->allocator));
	json_object_set_new(o, "by_kind", classes(f->by_kind.at, f->by_kind.n, "kind"));
	json_object_set_new(o, "by_phase", classes(f->by_phase.at, f->by_phase.n, "phase"));
	return o;
}

static json_t *once(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->once.n; i++) {
		json_t *o = json_pack("{s:o, s:o}", "what", report_json_text(f->once.at[i].what),
				      "ms", ms(f->once.at[i].ms));
		set_place(o, f, f->once.at[i].site);
		json_array_append_new(list, o);
	}
	return list;
}

/* ---- The replay and what follows from it ---- */

static json_t *replay(const struct findings *f)
{
	if (!(f->measured_ms > 0))
		return json_null();
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "measured_ms", ms(f->measured_ms),
			      "replayed_ms", ms(f->replayed_ms), "error_pct",
			      report_json_number(f->error_pct, PERCENT), "recorded_ms",
			      ms(f->recorded_ms), "step_ms", ms(f->step_ms), "mean_ms",
			      ms(f->mean_ms));
	if (f->disturbed_times > 1)
		json_object_set_new(o, "disturbed_times",
				    report_json_number(f->disturbed_times, COUNT));
	return o;
}

static json_t *advice(const struct findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->advice.n; i++) {
		const struct finding_advice *a = &f->advice.at[i];
		json_t *o = json_pack("{s:o, s:o, s:o, s:o}", "what", report_json_text(a->what),
				      "where", where(site_at(f, a->site)), "expected_ms_per_step",
				      ms(a->expected_ms), "why", report_json_text(a->why));
		json_object_set_new(o, "cause", json_string(verdict_name(a->cause)));
		if (a->high_ms > 0)
			json_object_set_new(o, "expected_ms_range",
					    json_pack("[o, o]", ms(a->low_ms), ms(a->high_ms)));
		if (a->rare_steps)
			json_object_set_new(o, "rare_steps", json_integer(a->rare_steps));
		else
			json_object_set_new(o, "together_ms_per_step", ms(a->together_ms));
		set_place(o, f, a->site);
		set_source(o, f, a->site);
		set_inner(o, a->inner);
		json_array_append_new(list, o);
	}
	return list;
}

static void add_gap(json_t *list, const char *what, const char *why)
{
	json_array_append_new(list, json_pack("{s:o, s:o}", "what", report_json_text(what), "why",
					      report_json_text(why)));
}

static void add_removed(json_t *list, const json_t *described)
{
	char why[160];
	json_int_t removed = json_integer_value(json_object_get(described, "n_traces_removed"));
	snprintf(why, sizeof(why),
		 "%lld of %lld were removed again: the first and the newest are kept "
		 "(PROF_KEEP_TRACES, PROF_KEEP_MB)",
		 (long long)removed,
		 (long long)json_integer_value(json_object_get(described, "n_traces")));
	if (removed)
		add_gap(list, "traces of all recorded steps", why);
}

static bool has_recorded_steps(const json_t *described)
{
	return json_array_size(json_object_get(json_object_get(described, "steps"), "recorded"));
}

/* The imports of a program that is taken as a whole would be called its loading of data. */
static void leave_out_phases(json_t *process, const json_t *described)
{
	const json_t *phases = json_object_get(process, "phases");
	if (has_recorded_steps(described) || !json_array_size(phases))
		return;
	json_object_set_new(process, "phases", json_array());
	add_gap(json_object_get(process, "unavailable"), "phases",
		"no step was recorded, and a program as a whole has none");
}

static json_t *unavailable(const json_t *described, const struct findings *f)
{
	json_t *list = json_array();
	const char *diagnostic = json_string_value(json_object_get(described, "diagnostic"));
	const char *trouble = json_string_value(json_object_get(described, "trouble"));
	const char *damage = json_string_value(json_object_get(described, "damage"));
	const json_t *cupti = json_object_get(described, "cupti");
	const char *reason = json_string_value(json_object_get(cupti, "reason"));
	if (damage)
		add_gap(list, "what the journal has lost", damage);
	if (diagnostic)
		add_gap(list, "steps", diagnostic);
	if (reason)
		add_gap(list, "GPU times", reason);
	if (trouble)
		add_gap(list, "traces", trouble);
	add_removed(list, described);
	for (size_t i = 0; f && i < f->unavailable.n; i++)
		add_gap(list, f->unavailable.at[i].what, f->unavailable.at[i].why);
	return list;
}

/* ---- A process ---- */

static json_t *rank(const json_t *described)
{
	const char *text = json_string_value(json_object_get(described, "rank"));
	char *end;
	long value = text && *text ? strtol(text, &end, 10) : -1;
	return value >= 0 && !*end ? json_integer(value) : json_null();
}

/* It never gave a GPU anything to do. */
static bool is_silent(const json_t *described)
{
	const json_t *records = json_object_get(described, "records");
	static const char *const work[] = { "launches", "kernels", "memcpys", "memsets" };
	for (size_t i = 0; i < sizeof(work) / sizeof(*work); i++)
		if (json_integer_value(json_object_get(records, work[i])))
			return false;
	return json_is_object(records);
}

static json_t *steps(const json_t *described)
{
	const json_t *from = json_object_get(described, "steps");
	json_t *o = json_object();
	static const char *const kept[] = { "count",	      "detector",      "recorded",
					    "schedule_shift", "schedule_late", "triggers",
					    "kept",	      "period",	       "boundary",
					    "corrected",      "trains_from",   "last" };
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (json_object_get(from, kept[i]))
			json_object_set(o, kept[i], json_object_get(from, kept[i]));
	double confidence = json_number_value(json_object_get(from, "confidence"));
	json_object_set_new(o, "confidence", report_json_number(confidence, PERCENT));
	return o;
}

static const struct {
	const char *name;
	json_t *(*make)(const struct findings *f);
} parts[] = {
	{ "baseline", baseline }, { "bound", bound },
	{ "gpu", gpus },	  { "idle", idle },
	{ "syncs", syncs },	  { "operators", operators },
	{ "kernels", kernels },	  { "lines", lines },
	{ "copies", copies },	  { "collectives", collectives },
	{ "memory", memory },	  { "once", once },
	{ "replay", replay },	  { "advice", advice },
	{ "modules", modules },	  { "backward", backward },
	{ "phases", phases },
};

json_t *report_json_process(const json_t *described, const struct findings *f)
{
	static const char *const kept[] = { "pid",     "state",	  "command",
					    "journal", "devices", "damage" };
	static const struct findings nothing = { .verdict = VERDICT_UNKNOWN };
	json_t *o = json_object();
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (json_object_get(described, kept[i]))
			json_object_set(o, kept[i], json_object_get(described, kept[i]));
	if (is_silent(described))
		json_object_set_new(o, "is_silent", json_true());
	json_object_set_new(o, "rank", rank(described));
	json_object_set_new(o, "steps", steps(described));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		json_object_set_new(o, parts[i].name, parts[i].make(f ? f : &nothing));
	json_object_set_new(o, "self", report_self(described, f ? f : &nothing));
	json_object_set_new(o, "unavailable", unavailable(described, f));
	leave_out_phases(o, described);
	if (f && f->arrivals.n)
		report_meetings_note(o, f);
	return o;
}
