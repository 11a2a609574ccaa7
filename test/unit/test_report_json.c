/*
 * report.json: every name and type that the interface promises, nothing made up where nothing is
 * known.
 */
#include "core/analysis/summary.h"
#include "export/report_fill.h"
#include "export/report_json.h"
#include "test/unit/fake_frames.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/*
 * The interface, one row per name. Types: n number, N number or null, s text, S text or null, b
 * true or false, o object, O object or null, a list. "x[].y" is y of each item of the list x.
 */
static const struct {
	const char *path;
	char type;
} schema[] = {
	{ "pid", 'n' },
	{ "rank", 'N' },
	{ "devices[].id", 'n' },
	{ "devices[].name", 's' },
	{ "steps.count", 'n' },
	{ "steps.detector", 's' },
	{ "steps.confidence", 'n' },
	{ "steps.recorded", 'a' },
	{ "baseline.step_ms.n", 'n' },
	{ "baseline.step_ms.mean", 'n' },
	{ "baseline.step_ms.std", 'n' },
	{ "baseline.step_ms.cv", 'n' },
	{ "baseline.step_ms.min", 'n' },
	{ "baseline.step_ms.p50", 'n' },
	{ "baseline.step_ms.p95", 'n' },
	{ "baseline.step_ms.p99", 'n' },
	{ "baseline.step_ms.max", 'n' },
	{ "baseline.slow_steps.n", 'n' },
	{ "baseline.slow_steps.of", 'n' },
	{ "baseline.slow_steps.times", 'n' },
	{ "baseline.slow_steps.time_pct", 'n' },
	{ "baseline.slow_steps.least_ms", 'n' },
	{ "baseline.slow_steps.n_recorded", 'n' },
	{ "baseline.slow_steps.recorded", 'a' },
	{ "baseline.pauses[].step", 'n' },
	{ "baseline.pauses[].ms", 'n' },
	{ "baseline.pauses[].file", 'S' },
	{ "baseline.pauses[].line", 'N' },
	{ "baseline.drift.first_ms", 'n' },
	{ "baseline.drift.last_ms", 'n' },
	{ "bound.verdict", 's' },
	{ "bound.confidence", 'n' },
	{ "bound.between", 'a' },
	{ "bound.evidence", 'a' },
	{ "bound.savings[].resource", 's' },
	{ "bound.savings[].ms_per_step", 'n' },
	{ "bound.savings[].interval_ms", 'a' },
	{ "bound.stall.cause", 's' },
	{ "bound.stall.ms_per_step", 'n' },
	{ "bound.stall.file", 's' },
	{ "bound.stall.line", 'n' },
	{ "gpu[].device", 'n' },
	{ "gpu[].busy_pct", 'n' },
	{ "gpu[].busy_ms_per_step", 'n' },
	{ "gpu[].idle_ms_per_step", 'n' },
	{ "gpu[].kernels_per_step", 'n' },
	{ "gpu[].tensor_core_pct", 'N' },
	{ "idle[].cause", 's' },
	{ "idle[].ms_per_step", 'n' },
	{ "idle[].pct", 'n' },
	{ "idle[].where", 'S' },
	{ "syncs[].file", 'S' },
	{ "syncs[].line", 'N' },
	{ "syncs[].function", 'S' },
	{ "syncs[].source", 'S' },
	{ "syncs[].api", 's' },
	{ "syncs[].kind", 's' },
	{ "syncs[].per_step", 'n' },
	{ "syncs[].blocked_ms_per_step", 'n' },
	{ "syncs[].gpu_idle_ms_per_step", 'n' },
	{ "syncs[].recoverable_ms_per_step", 'n' },
	{ "syncs[].line_ms_per_step", 'n' },
	{ "syncs[].stack[].function", 's' },
	{ "phases", 'a' },
	{ "operators[].name", 's' },
	{ "operators[].per_step", 'n' },
	{ "operators[].gpu_ms_per_step", 'n' },
	{ "operators[].host_ms_per_step", 'n' },
	{ "operators[].self_gpu_ms_per_step", 'n' },
	{ "operators[].self_host_ms_per_step", 'n' },
	{ "kernels[].name", 's' },
	{ "kernels[].per_step", 'n' },
	{ "kernels[].gpu_ms_per_step", 'n' },
	{ "kernels[].pct", 'n' },
	{ "kernels[].tensor_core", 'b' },
	{ "lines[].file", 'S' },
	{ "lines[].line", 'N' },
	{ "lines[].function", 'S' },
	{ "lines[].gpu_ms_per_step", 'n' },
	{ "lines[].host_ms_per_step", 'n' },
	{ "lines[].launches_per_step", 'n' },
	{ "copies[].kind", 's' },
	{ "copies[].memory", 's' },
	{ "copies[].per_step", 'n' },
	{ "copies[].bytes_per_step", 'n' },
	{ "copies[].gb_per_s", 'n' },
	{ "copies[].blocking", 'b' },
	{ "copies[].file", 'S' },
	{ "copies[].line", 'N' },
	{ "memory.device_peak_bytes", 'n' },
	{ "memory.at_peak[].file", 'S' },
	{ "memory.at_peak[].line", 'N' },
	{ "memory.at_peak[].bytes", 'n' },
	{ "memory.leaks[].file", 'S' },
	{ "memory.leaks[].line", 'N' },
	{ "memory.leaks[].bytes_per_step", 'n' },
	{ "memory.retries", 'n' },
	{ "replay.measured_ms", 'n' },
	{ "replay.recorded_ms", 'n' },
	{ "replay.step_ms", 'n' },
	{ "replay.mean_ms", 'n' },
	{ "replay.replayed_ms", 'n' },
	{ "replay.error_pct", 'n' },
	{ "advice[].what", 's' },
	{ "advice[].where", 'S' },
	{ "advice[].cause", 's' },
	{ "advice[].expected_ms_per_step", 'n' },
	{ "advice[].expected_ms_range", 'A' },
	{ "advice[].together_ms_per_step", 'n' },
	{ "advice[].why", 's' },
	{ "self.ns_per_call", 'N' },
	{ "self.overhead_pct", 'N' },
	{ "self.overhead_ci", 'A' },
	{ "self.left_pct", 'N' },
	{ "self.left_ci", 'A' },
	{ "self.dropped", 'n' },
	{ "self.cupti", 'o' },
	{ "unavailable[].what", 's' },
	{ "unavailable[].why", 's' },
};

static bool has_type(const json_t *value, char type)
{
	bool may_be_null = type >= 'A' && type <= 'Z';
	if (!value || (may_be_null && json_is_null(value)))
		return value;
	switch (type | 0x20) {
	case 'n':
		return json_is_number(value);
	case 's':
		return json_is_string(value);
	case 'b':
		return json_is_boolean(value);
	case 'o':
		return json_is_object(value);
	default:
		return json_is_array(value);
	}
}

/* How many values were found at `path`; each must be of the type. */
static size_t check(const json_t *o, const char *path, char type, const char *whole)
{
	char name[64];
	size_t n = strcspn(path, ".["), found = 0;
	snprintf(name, sizeof(name), "%.*s", (int)n, path);
	const json_t *value = json_object_get(o, name);
	path += n;
	if (!*path) {
		if (!has_type(value, type))
			fail_msg("%s is missing or of another type", whole);
		return 1;
	}
	if (*path == '.') {
		if (!json_is_object(value))
			fail_msg("%s: '%s' is no object", whole, name);
		return check(value, path + 1, type, whole);
	}
	if (!json_is_array(value))
		fail_msg("%s: '%s' is no list", whole, name);
	for (size_t i = 0; i < json_array_size(value); i++)
		found += check(json_array_get(value, i), path + strlen("[]."), type, whole);
	return found;
}

/* ---- Findings made by hand ---- */

/* What is known of a process without an analysis. */
static struct report_process *described(void)
{
	static const char text[] =
		"{\"pid\": 7, \"rank\": \"3\", \"journal\": \"journal/7.journal\","
		"\"devices\": [{\"id\": 0, \"name\": \"GPU\"}], \"records\": {\"launches\": 9},"
		"\"steps\": {\"count\": 80, \"detector\": \"auto\", \"confidence\": 0.8,"
		" \"recorded\": [12, 13]}, \"losses\": {\"dropped\": 2, \"dropped_by_cupti\": 3},"
		"\"cupti\": {\"state\": \"used\"}}";
	struct report_process *p = report_process_new();
	json_t *o = json_loads(text, 0, NULL);
	fields_read(&process_facts_fields, &p->facts, o, &p->arena);
	json_decref(o);
	return p;
}

static const struct frame inner = { .function = "Trainer._run_epoch",
				    .file = "/v/transformers/trainer.py",
				    .module = "",
				    .line = 1911 };

static void fill(struct findings *f, struct timeline *t)
{
	fake_forget();
	fake_add(1, "/job/train.py", 42, "step", "", "aten::item");
	fake_add(2, "", 0, "nativeWork", "libwork.so", "");
	*f = (struct findings){ .timeline = t,
				.baseline = { .n = 80,
					      .mean = 5,
					      .std = 0.1,
					      .cv = 0.02,
					      .min = 4,
					      .p50 = 5,
					      .p95 = 6,
					      .p99 = 6.5,
					      .max = 7 },
				.recorded = { .n = 10, .mean = 5.1, .std = 0.1 },
				.slow = { .n = 8,
					  .n_of = 80,
					  .times = 18,
					  .pct = 67,
					  .least_ms = 15,
					  .n_recorded = 1,
					  .recorded = { 19 } },
				.drift = { 1.2, 2.6 },
				.verdict = VERDICT_UNCLEAR,
				.confidence = 0.9,
				.device_peak_bytes = 4096,
				.measured_ms = 5.00004,
				.replayed_ms = 5.1,
				.error_pct = 2 };
	vec_push(&f->pauses, (struct finding_pause){ .number = 19, .ms = 90, .site = 1 });
	vec_push(&f->between, VERDICT_LAUNCH);
	vec_push(&f->between, VERDICT_SYNC);
	vec_push(&f->savings, (struct finding_saving){ VERDICT_SYNC, 1.5, 1, 2 });
	vec_push(&f->evidence, (__typeof__(*f->evidence.at)){ "the GPU is idle 40 %" });
	vec_push(&f->gpus, (struct finding_gpu){ .busy_pct = 60, .tensor_core_pct = -1 });
	vec_push(&f->idle, (struct finding_idle){ .cause = IDLE_SYNC, .site = 1, .ms = 2 });
	vec_push(&f->idle, (struct finding_idle){ .cause = IDLE_LAUNCH, .ms = 1 });
	vec_push(&f->syncs, (struct finding_sync){ .site = 1,
						   .stack = 1,
						   .inner = &inner,
						   .api = "cudaStreamSynchronize",
						   .kind = SYNC_ITEM,
						   .per_step = 1 });
	vec_push(&f->syncs,
		 (struct finding_sync){ .site = 2, .stack = 2, .api = "cuCtxSynchronize" });
	vec_push(&f->operators, (struct finding_operator){ .name = "aten::linear" });
	struct finding_phase phase = { .name = "backward",
				       .host_ms = 3,
				       .gpu_ms = 2,
				       .parts = { { "recompute", 1, 0.5 } },
				       .n_parts = 1 };
	vec_push(&f->phases, phase);
	vec_push(&f->kernels, (struct finding_kernel){ .name = "gemm\xff", .tensor_core = true });
	vec_push(&f->lines, (struct finding_line){ .site = 1, .gpu_ms = 1.5 });
	vec_push(&f->copies, (struct finding_copy){ .kind = "DtoH",
						    .memory = "Device -> Pageable",
						    .site = 1,
						    .gb_per_s = 12 });
	vec_push(&f->once, (struct finding_once){ .what = "cuModuleLoadData", .ms = 30 });
	vec_push(&f->at_peak, (struct finding_block){ .site = 1, .bytes = 4096 });
	vec_push(&f->leaks, (struct finding_block){ .site = 2, .bytes = 512 });
	/* faster launches save most, but are not a stall */
	struct finding_advice launches = {
		.site = 2, .cause = VERDICT_LAUNCH, .expected_ms = 2, .low_ms = 1, .high_ms = 3
	};
	struct finding_advice a = { .site = 1,
				    .cause = VERDICT_SYNC,
				    .interval_low_ms = 1.1,
				    .interval_high_ms = 1.3,
				    .inner = &inner,
				    .expected_ms = 1.2,
				    .low_ms = 1,
				    .high_ms = 1.4,
				    .what = "keep it",
				    .why = "idle" };
	vec_push(&f->advice, launches);
	vec_push(&f->advice, a);
	struct finding_gap g = { .what = "phases", .why = "not yet" };
	vec_push(&f->unavailable, g);
}

/* Frees the process. */
static json_t *to_json(struct report_process *p)
{
	json_t *o = fields_write(&report_process_fields, p);
	report_process_drop(p);
	return o;
}

static json_t *make(void)
{
	struct timeline t = { 0 };
	struct findings f;
	struct report_process *p = described();
	fill(&f, &t);
	report_fill(p, &f);
	findings_free(&f);
	return to_json(p);
}

static const char *text_at(const json_t *o, const char *list, size_t i, const char *name)
{
	return json_string_value(
		json_object_get(json_array_get(json_object_get(o, list), i), name));
}

/* ---- Tests ---- */

static void test_every_name_of_the_interface(void **state)
{
	json_t *o = make();
	(void)state;
	for (size_t i = 0; i < sizeof(schema) / sizeof(*schema); i++)
		if (!check(o, schema[i].path, schema[i].type, schema[i].path))
			fail_msg("%s: no item to look at", schema[i].path);
	json_decref(o);
}

/* What a program does as a whole is no phase of a step. */
static void test_no_phases_without_a_recorded_step(void **state)
{
	struct timeline t = { 0 };
	struct findings f;
	(void)state;
	for (int is_any = 0; is_any < 2; is_any++) {
		struct report_process *p = described();
		if (!is_any)
			p->facts.steps.recorded.n = 0;
		fill(&f, &t);
		report_fill(p, &f);
		json_t *o = to_json(p);
		assert_int_equal(json_array_size(json_object_get(o, "phases")), is_any);
		assert_int_equal(json_array_size(json_object_get(o, "unavailable")), 2 - is_any);
		findings_free(&f);
		json_decref(o);
	}
}

static void test_places(void **state)
{
	json_t *o = make();
	(void)state;
	assert_string_equal(text_at(o, "idle", 0, "where"), "/job/train.py:42");
	assert_null(text_at(o, "idle", 1, "where"));
	assert_string_equal(text_at(o, "syncs", 0, "kind"), "item");
	assert_string_equal(text_at(o, "syncs", 1, "function"), "nativeWork");
	assert_null(text_at(o, "syncs", 1, "file")); /* null, not "" */
	assert_string_equal(text_at(o, "advice", 1, "where"), "/job/train.py:42");
	assert_string_equal(text_at(o, "kernels", 0, "name"), "gemm?");
	json_decref(o);
}

static void test_numbers(void **state)
{
	json_t *o = make();
	const json_t *self = json_object_get(o, "self");
	(void)state;
	assert_int_equal(json_integer_value(json_object_get(o, "rank")), 3);
	assert_int_equal(json_integer_value(json_object_get(self, "dropped")), 5);
	assert_true(json_is_null(json_object_get(self, "ns_per_call")));
	assert_true(json_number_value(json_object_get(json_object_get(o, "replay"), "measured_"
										    "ms")) ==
		    5.0); /* rounded to a tenth of a microsecond */
	json_t *nothing = report_json_number(NAN, 1);
	assert_true(json_is_null(nothing));
	json_decref(nothing);
	json_decref(o);
}

/* The library's line under the user's, where it is known. */
static void test_lines_of_a_library(void **state)
{
	json_t *o = make(), *syncs = json_object_get(o, "syncs"),
	       *of_wait = json_object_get(json_array_get(syncs, 0), "inner"),
	       *of_advice =
		       json_object_get(json_array_get(json_object_get(o, "advice"), 1), "inner");
	(void)state;
	assert_string_equal(json_string_value(json_object_get(of_wait, "file")), inner.file);
	assert_int_equal(json_integer_value(json_object_get(of_wait, "line")), inner.line);
	assert_string_equal(json_string_value(json_object_get(of_wait, "function")),
			    inner.function);
	assert_true(json_equal(of_wait, of_advice));
	assert_true(json_is_null(json_object_get(json_array_get(syncs, 1), "inner")));
	json_decref(o);
}

static void test_the_bottleneck(void **state)
{
	json_t *o = make(), *bound = json_object_get(o, "bound"),
	       *between = json_object_get(bound, "between"),
	       *saving = json_array_get(json_object_get(bound, "savings"), 0),
	       *stall = json_object_get(bound, "stall"),
	       *interval = json_object_get(json_array_get(json_object_get(o, "advice"), 1),
					   "interval_ms");
	(void)state;
	assert_string_equal(json_string_value(json_object_get(bound, "verdict")), "unclear");
	assert_int_equal(json_array_size(between), 2);
	assert_string_equal(json_string_value(json_array_get(between, 0)), "launch");
	assert_string_equal(json_string_value(json_object_get(saving, "resource")), "sync");
	assert_float_equal(
		json_number_value(json_array_get(json_object_get(saving, "interval_ms"), 1)), 2,
		1e-9);
	assert_string_equal(json_string_value(json_object_get(stall, "cause")), "sync");
	assert_string_equal(json_string_value(json_object_get(stall, "where")), "/job/train.py:42");
	assert_float_equal(json_number_value(json_object_get(stall, "ms_per_step")), 1.2, 1e-9);
	assert_true(json_equal(json_object_get(stall, "interval_ms"), interval));
	assert_float_equal(json_number_value(json_array_get(interval, 0)), 1.1, 1e-9);
	json_decref(o);
}

/* No step was recorded: the lists are there and empty, the reason is said. */
static void test_nothing_was_analysed(void **state)
{
	struct report_process *p = described();
	(void)state;
	p->facts.diagnostic = "too short for the schedule";
	p->facts.rank = "worker";
	report_fill(p, NULL);
	json_t *o = to_json(p);
	assert_true(json_is_null(json_object_get(o, "rank")));
	assert_true(json_is_null(json_object_get(o, "replay")));
	assert_true(json_is_null(json_object_get(json_object_get(o, "baseline"), "step_ms")));
	assert_true(json_is_null(json_object_get(json_object_get(o, "baseline"), "slow_steps")));
	assert_int_equal(json_array_size(json_object_get(o, "syncs")), 0);
	assert_string_equal(text_at(o, "unavailable", 0, "why"), "too short for the schedule");
	assert_string_equal(json_string_value(json_object_get(json_object_get(o, "bound"), "verdic"
											   "t")),
			    "unknown");
	json_decref(o);
}

/* ---- What recording cost ---- */

static void test_overhead(void **state)
{
	const struct cost_found known = {
		.is_known = true,
		.pct = 1.234,
		.low_pct = -0.5,
		.high_pct = 3,
		.left = { true, 8.765, 7, 9.5 },
	};
	const struct cost_found unknown = { .n_recorded = 3 };
	struct report_process *p = described();
	(void)state;
	p->self.overhead = facts_overhead(&known);
	json_t *o = fields_write(&report_process_fields, p), *self = json_object_get(o, "self");
	assert_float_equal(json_real_value(json_object_get(self, "overhead_pct")), 1.23, 1e-9);
	json_t *ci = json_object_get(self, "overhead_ci");
	assert_float_equal(json_real_value(json_array_get(ci, 0)), -0.5, 1e-9);
	assert_float_equal(json_real_value(json_array_get(ci, 1)), 3, 1e-9);
	assert_float_equal(json_real_value(json_object_get(self, "left_pct")), 8.77, 1e-9);
	ci = json_object_get(self, "left_ci");
	assert_float_equal(json_real_value(json_array_get(ci, 1)), 9.5, 1e-9);
	json_decref(o);
	p->self.overhead = facts_overhead(&unknown);
	o = to_json(p);
	self = json_object_get(o, "self");
	assert_true(json_is_null(json_object_get(self, "overhead_pct")));
	assert_true(json_is_null(json_object_get(self, "left_pct")));
	assert_true(json_is_null(json_object_get(self, "left_ci")));
	assert_true(json_is_null(json_object_get(self, "overhead_ci")));
	json_decref(o);
}

/* ---- Read back ---- */

static json_t *report_of(struct report_process *p)
{
	struct report r;
	report_start(&r);
	report_add(&r, p);
	r.run.host = "node";
	r.run.signal = 9;
	json_t *root = report_to_json(&r);
	report_free(&r);
	return root;
}

/* What was written is what is read, to the last member; and so is what is not known. */
static void test_read_back(void **state)
{
	struct timeline t = { 0 };
	struct findings f;
	struct report r;
	(void)state;
	for (int is_known = 0; is_known < 2; is_known++) {
		struct report_process *p = described();
		fill(&f, &t);
		report_fill(p, is_known ? &f : NULL);
		findings_free(&f);
		json_t *root = report_of(p);
		assert_true(report_from_json(&r, root));
		json_t *again = report_to_json(&r);
		assert_true(json_equal(root, again));
		assert_int_equal(r.run.signal, 9);
		assert_int_equal(r.run.pid, -1);
		assert_int_equal(r.processes.at[0]->rank, 3);
		assert_int_equal(r.processes.at[0]->syncs.n, is_known ? 2 : 0);
		assert_ptr_equal(report_find(&r, "journal/7.journal"), r.processes.at[0]);
		report_free(&r);
		json_decref(root);
		json_decref(again);
	}
}

/* Other versions' files, and what is no report at all. */
static void test_what_is_no_report(void **state)
{
	static const char *const texts[] = { "{}", "[]", "{\"schema\": 1, \"processes\": [{}]}" };
	struct report r;
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json_t *root = json_loads(texts[i], 0, NULL);
		assert_false(report_from_json(&r, root));
		assert_int_equal(r.processes.n, 0);
		report_free(&r);
		json_decref(root);
	}
	assert_false(report_from_json(&r, NULL));
	report_free(&r);
}

/* Members of another type are not known: somebody has edited the file. */
static void test_members_of_another_type(void **state)
{
	json_t *root = json_loads("{\"schema\": 2, \"run\": 5, \"processes\": [{\"pid\": \"x\","
				  "\"gpu\": 3, \"syncs\": [{\"file\": 1, \"line\": \"a\","
				  "\"line_ms_per_step\": \"b\", \"stack\": {}, \"inner\": []}],"
				  "\"replay\": [1], \"self\": {\"overhead_ci\": [1, \"x\"]}}]}",
				  0, NULL);
	struct report r;
	(void)state;
	assert_true(report_from_json(&r, root));
	const struct report_process *p = r.processes.at[0];
	assert_int_equal(p->facts.pid, 0);
	assert_int_equal(p->gpu.n, 0);
	assert_null(p->replay);
	assert_true(isnan(p->self.overhead.ci.low));
	assert_int_equal(p->syncs.n, 1);
	assert_string_equal(p->syncs.at[0].place.file, "");
	assert_int_equal(p->syncs.at[0].place.line, -1);
	assert_true(isnan(p->syncs.at[0].line_ms));
	assert_int_equal(p->syncs.at[0].stack.n, 0);
	assert_null(p->syncs.at[0].inner);
	report_free(&r);
	json_decref(root);
}

/* Lists and pointers have items of the struct that their table is of. */
static void check_table(const struct fields *f, int depth)
{
	assert_in_range(depth, 0, 8);
	for (size_t i = 0; i < f->n; i++) {
		const struct field *x = &f->at[i];
		if (x->kind == FIELD_LIST || x->kind == FIELD_POINTER)
			assert_int_equal(x->bytes, x->of->bytes);
		if (x->of)
			check_table(x->of, depth + 1);
		assert_true(x->offset < f->bytes);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(x->name, f->at[k].name);
	}
}

static void test_tables(void **state)
{
	(void)state;
	check_table(&report_process_fields, 0);
	check_table(&report_ranks_fields, 0);
	check_table(&report_run_fields, 0);
	check_table(&process_facts_fields, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_name_of_the_interface),
		cmocka_unit_test(test_no_phases_without_a_recorded_step),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_lines_of_a_library),
		cmocka_unit_test(test_the_bottleneck),
		cmocka_unit_test(test_nothing_was_analysed),
		cmocka_unit_test(test_overhead),
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_what_is_no_report),
		cmocka_unit_test(test_members_of_another_type),
		cmocka_unit_test(test_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
