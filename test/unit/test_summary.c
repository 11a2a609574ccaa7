/*
 * Kernels, copies, lines and operators of hand-made steps; totals of the whole run, from a journal.
 */
#include "core/analysis/summary.h"
#include "core/analysis/summary_run.h"
#include "core/source/journal/ingest.h"
#include "core/symbols/phase_rules.h"
#include "test/unit/findings_fixture.h"
#include "test/unit/journal_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static int set_up(void **state)
{
	struct fixture *f = fixture_begin((struct frames *)fake_frames);
	fake_add(1, "train.py", 10, "train", "", "aten::addmm");
	fake_add(2, "train.py", 10, "train", "", "aten::relu");
	fake_add(3, "train.py", 30, "train", "", "aten::addmm");
	fake_add(4, "train.py", 40, "train", "", "");
	*state = f;
	return 0;
}

static void launch(struct fixture *f, double at, double us, const char *kernel, uint32_t stack)
{
	uint32_t call = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
							 .category = CAT_LAUNCH,
							 .begin_us = at,
							 .end_us = at + 2,
							 .stack = stack });
	sb_work(&f->b, (struct sb_work){ .name = kernel,
					 .begin_us = at + 5,
					 .end_us = at + 5 + us,
					 .call = call,
					 .stream = 7 });
}

/* Two steps of the same; then one without GPU times. */
static void fill(struct fixture *f)
{
	for (int step = 0; step < 2; step++) {
		double at = step * 1000;
		sb_step(&f->b, (uint64_t)step, at, at + 1000);
		launch(f, at + 10, 30, "sm80_xmma_gemm_f16f16", 1);
		launch(f, at + 20, 10, "vectorized_elementwise_kernel", 2);
		launch(f, at + 50, 30, "sm80_xmma_gemm_f16f16", 1);
		launch(f, at + 90, 30, "splitK_reduce", 3);
		uint32_t call = sb_call(&f->b, (struct sb_call){ .name = "cudaMemcpy",
								 .category = CAT_MEMCPY,
								 .begin_us = at + 500,
								 .end_us = at + 600,
								 .stack = 4,
								 .bytes = 1000000,
								 .copy = COPY_D2H });
		sb_work(&f->b, (struct sb_work){ .name = "Memcpy DtoH (Device -> Pageable)",
						 .kind = WORK_MEMCPY,
						 .begin_us = at + 505,
						 .end_us = at + 595,
						 .call = call,
						 .stream = 7,
						 .bytes = 1000000,
						 .source = 3,
						 .target = 1 });
		sb_end(&f->b, &f->a);
	}
	summary_fill(&f->f, &f->a.timeline);
}

/* They were met in another order. */
static void rows_of_equal_time_are_sorted_by_name(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = { "scale_c", "scale_a", "scale_d", "scale_b" };
	sb_step(&f->b, 0, 0, 1000);
	for (size_t i = 0; i < 4; i++)
		launch(f, 10 + 50.0 * (double)i, 20, names[i], 1);
	sb_end(&f->b, &f->a);
	summary_fill(&f->f, &f->a.timeline);
	assert_int_equal(f->f.kernels.n, 4);
	for (size_t i = 1; i < 4; i++)
		assert_true(strcmp(f->f.kernels.at[i - 1].name, f->f.kernels.at[i].name) < 0);
}

static void kernels(void **state)
{
	struct fixture *f = *state;
	fill(f);
	assert_int_equal(f->f.kernels.n, 3);
	const struct finding_kernel *k = &f->f.kernels.at[0];
	assert_string_equal(k->name, "sm80_xmma_gemm_f16f16");
	assert_float_equal(k->per_step, 2, 1e-9);
	assert_float_equal(k->gpu_ms, 0.060, 1e-9);
	assert_float_equal(k->pct, 60, 1e-6);
	assert_true(k->tensor_core);
	assert_float_equal(f->f.gpus.at[0].kernels, 4, 1e-9);
	assert_float_equal(f->f.gpus.at[0].tensor_core_pct, 60, 1e-6);
}

static void copies(void **state)
{
	struct fixture *f = *state;
	fill(f);
	assert_int_equal(f->f.copies.n, 1);
	const struct finding_copy *c = &f->f.copies.at[0];
	assert_string_equal(c->kind, "DtoH");
	assert_string_equal(c->memory, "Device -> Pageable");
	assert_float_equal(c->per_step, 1, 1e-9);
	assert_float_equal(c->bytes, 1e6, 1e-3);
	assert_float_equal(c->gb_per_s, 1e6 / 90e3, 1e-6);
	assert_true(c->blocking);
	assert_int_equal(frames_site_at(NULL, c->site)->line, 40);
}

/* From pageable memory: what is copied aside returns at once. */
static void copy_aside(struct fixture *f, double at, uint64_t bytes)
{
	uint32_t call = sb_call(&f->b, (struct sb_call){ .name = "cudaMemcpyAsync",
							 .category = CAT_MEMCPY,
							 .begin_us = at,
							 .end_us = at + 5,
							 .stack = 4,
							 .bytes = bytes,
							 .copy = COPY_H2D });
	sb_work(&f->b, (struct sb_work){ .name = "Memcpy HtoD (Pageable -> Device)",
					 .kind = WORK_MEMCPY,
					 .begin_us = at + 7,
					 .end_us = at + 10,
					 .call = call,
					 .stream = 7,
					 .bytes = bytes,
					 .source = 1,
					 .target = 3 });
}

/* x.cuda() of some kilobytes: the operator then waits for the stream. */
static void staged_copy(struct fixture *f, double at, uint32_t stack_of_wait)
{
	copy_aside(f, at, 16384);
	sb_call(&f->b, (struct sb_call){ .name = "cudaStreamSynchronize",
					 .category = CAT_SYNC,
					 .begin_us = at + 6,
					 .end_us = at + 11,
					 .stack = stack_of_wait });
}

static void copies_agree_with_waits(void **state)
{
	struct fixture *f = *state;
	sb_step(&f->b, 0, 0, 1000);
	staged_copy(f, 100, 4);
	sb_end(&f->b, &f->a);
	summary_fill(&f->f, &f->a.timeline);
	assert_int_equal(f->f.syncs.n, 1);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_COPY);
	assert_int_equal(f->f.syncs.at[0].site, f->f.copies.at[0].site);
	assert_true(f->f.copies.at[0].blocking);
}

/*
 * A batch from pageable memory, with two small tensors that are copied without a wait: the row's
 * bytes are those waited for.
 */
static void a_batch_is_waited_for(void **state)
{
	struct fixture *f = *state;
	sb_step(&f->b, 0, 0, 1000);
	staged_copy(f, 100, 4);
	copy_aside(f, 200, 64);
	copy_aside(f, 300, 64);
	sb_end(&f->b, &f->a);
	summary_fill(&f->f, &f->a.timeline);
	assert_int_equal(f->f.copies.n, 1);
	assert_true(f->f.copies.at[0].blocking);
}

static void a_wait_on_another_line_is_its_own(void **state)
{
	struct fixture *f = *state;
	sb_step(&f->b, 0, 0, 1000);
	staged_copy(f, 100, 3);
	sb_end(&f->b, &f->a);
	summary_fill(&f->f, &f->a.timeline);
	assert_int_not_equal(f->f.syncs.at[0].site, f->f.copies.at[0].site);
	assert_false(f->f.copies.at[0].blocking);
}

static void lines(void **state)
{
	struct fixture *f = *state;
	fill(f);
	assert_int_equal(f->f.lines.n, 3);
	const struct finding_line *l = &f->f.lines.at[1];
	assert_int_equal(frames_site_at(NULL, l->site)->line, 10);
	assert_float_equal(l->gpu_ms, 0.070, 1e-9);
	assert_float_equal(l->host_ms, 0.006, 1e-9);
	assert_float_equal(l->launches, 3, 1e-9);
	assert_int_equal(frames_site_at(NULL, f->f.lines.at[0].site)->line, 40);
}

/* The launch behind a long kernel waits for room in the queue: the kernel's line is what costs. */
static void lines_of_a_full_queue(void **state)
{
	struct fixture *f = *state;
	sb_step(&f->b, 5, 0, 3000);
	sb_launch(&f->b, 0, 8000, 10000, 1);
	uint32_t id = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
						       .category = CAT_LAUNCH,
						       .begin_us = 10,
						       .end_us = 2500,
						       .stack = 3 });
	sb_work(&f->b, (struct sb_work){
			       .name = "short", .begin_us = 10000, .end_us = 10050, .call = id });
	sb_end(&f->b, &f->a);
	summary_fill(&f->f, &f->a.timeline);
	assert_int_equal(frames_site_at(NULL, f->f.lines.at[0].site)->line, 10);
	assert_float_equal(f->f.lines.at[1].host_ms, 0.010, 1e-9);
}

/*
 * The second launch of stack 1 begins another run of its operator; that of stack 3 is the same run
 * as the one before it.
 */
static void operators(void **state)
{
	struct fixture *f = *state;
	fill(f);
	assert_int_equal(f->f.operators.n, 2);
	const struct finding_operator *o = &f->f.operators.at[0];
	assert_string_equal(o->name, "aten::addmm");
	assert_float_equal(o->per_step, 2, 1e-9);
	assert_float_equal(o->gpu_ms, 0.090, 1e-9);
	assert_float_equal(o->host_ms, 0.002 + 0.042, 1e-9);
	assert_string_equal(f->f.operators.at[1].name, "aten::relu");
}

static void averaged_over_steps_with_gpu_times(void **state)
{
	struct fixture *f = *state;
	sb_step(&f->b, 9, 9000, 10000);
	sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
					 .category = CAT_LAUNCH,
					 .begin_us = 9100,
					 .end_us = 9102,
					 .stack = 1 });
	sb_end(&f->b, &f->a);
	fill(f);
	assert_float_equal(f->f.kernels.at[0].gpu_ms, 0.060, 1e-9);
	assert_float_equal(f->f.lines.at[1].launches, 7.0 / 3, 1e-9);
	assert_int_equal(f->f.gpus.at[0].span_ns, 2000000);
	assert_int_equal(f->f.unavailable.n, 2);
	assert_string_equal(f->f.unavailable.at[0].what,
			    "reliable phases"); /* stacks of nothing known */
	assert_string_equal(f->f.unavailable.at[1].what, "GPU times");
}

/*
 * Sorted as on the first screen: by the host time spent in them, however much GPU time they
 * launched.
 */
static void phases_are_sorted_by_host_time(void **state)
{
	struct fixture *f = *state;
	struct phase_sums *s = &f->a.timeline.phase_sums;
	s->has_phases = true;
	s->host_ns[PART_MODULE] = 30000000;
	s->gpu_ns[PART_MODULE] = 90000000;
	s->host_ns[PART_BACKWARD] = 50000000;
	s->gpu_ns[PART_BACKWARD] = 10000000;
	fill(f);
	assert_int_equal(f->f.phases.n, 3);
	assert_string_equal(f->f.phases.at[0].name, "backward");
	assert_string_equal(f->f.phases.at[1].name, "forward");
}

/* Besides the mean of all steps, that of typical ones, which the first screen shows. */
static void phases_of_typical_steps(void **state)
{
	static const bool is_typical[4] = { true }; /* fill() adds two steps */
	struct fixture *f = *state;
	f->a.timeline.phase_sums.has_phases = true;
	for (size_t i = 0; i < 2; i++) {
		struct phase_sums sums = { 0 };
		sums.host_ns[PART_MODULE] = i ? 9000000 : 2000000;
		sums.host_ns[PART_FUNCTIONAL] = 500000;
		vec_push(&f->a.timeline.phases_of_step, sums);
	}
	f->a.timeline.phase_sums.host_ns[PART_MODULE] = 13000000;
	fill(f);
	assert_int_equal(f->a.timeline.phases_of_step.n, 4);
	summary_fill_typical_phases(&f->f, is_typical);
	for (size_t i = 0; i < f->f.phases.n; i++)
		if (!strcmp(f->f.phases.at[i].name, "forward"))
			assert_float_equal(f->f.phases.at[i].typical_host_ms, 2.5, 1e-9);
		else
			assert_float_equal(f->f.phases.at[i].typical_host_ms, 0, 1e-9);
}

/* Phases are told, so what cannot be said is not "phases". */
static void guessed_phases_are_reported(void **state)
{
	struct fixture *f = *state;
	struct phase_sums *s = &f->a.timeline.phase_sums;
	s->has_phases = true;
	s->host_ns[PART_BACKWARD] = 50000000;
	s->n_calls = 100;
	s->n_guessed = s->n_without_stack = 40;
	fill(f);
	assert_true(f->f.phases.n > 0);
	for (size_t i = 0; i < f->f.unavailable.n; i++)
		assert_string_not_equal(f->f.unavailable.at[i].what, "phases");
	assert_string_equal(f->f.unavailable.at[0].what, "consistent phases");
	assert_string_equal(f->f.unavailable.at[1].what, "reliable phases");
	assert_string_equal(f->f.unavailable.at[2].what, "phases of all calls");
}

static void missing_names_are_reported(void **state)
{
	struct fixture *f = *state;
	made_diagnostic = "/home/me/shapes.so: the file has changed since the run";
	f->a.timeline.frames = (struct frames *)f; /* only asked for diagnostics, by the stand-in */
	fill(f);
	f->a.timeline.frames = NULL;
	made_diagnostic = NULL;
	const struct finding_gap *last = &f->f.unavailable.at[f->f.unavailable.n - 1];
	assert_string_equal(last->what, "function names");
	assert_non_null(strstr(last->why, "shapes.so"));
}

/* ---- The run ---- */

static uint32_t shown;

static void count_step(void *context, struct ingest *f, struct model_step *m)
{
	(void)f;
	shown++;
	analyzer_add(context, m, true);
}

enum { MS = 1000000, STEPS = 12 };

/*
 * Steps of 10 ms, the first two of 40; memory that grows by 100 bytes a step; a launch that took 5
 * ms in step 0.
 */
static void write_journal(const char *path)
{
	struct journal_builder *b = jb_new(16, JOURNAL_CHUNK_BYTES);
	uint64_t at = 1000;
	jb_thread(b, 1, 100, "main");
	jb_string(b, 1, "late_kernel");
	jb_launch_shape(b, 7, 1, 8);
	jb_call(b, 1, JB_LAUNCH, at, 5 * MS, 1, 7);
	at += 50 * MS;
	for (uint64_t step = 1; step <= STEPS; step++) {
		jb_step(b, 1, STEP_BEGIN, at, step, step == 9 ? SCHED_RECORD_AND_SAVE : SCHED_NONE);
		jb_call(b, 1, JB_LAUNCH, at + 1000, 3000, (uint32_t)step + 1, 7);
		jb_alloc(b, 1, JB_MALLOC, at + 10000, 0x1000 * step, 100);
		at += step <= 2 ? 40 * MS : 10 * MS;
	}
	jb_end(b, at);
	jb_write(b, path);
	jb_free(b);
}

static void what_the_run_says(void **state)
{
	char path[] = "/tmp/profrun-test-ledger-XXXXXX";
	struct analyzer a;
	struct findings f = { 0 };
	struct ingest ingest;
	struct err e;
	(void)state;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	write_journal(path);
	const struct ingest_sink sink = { .context = &a, .step = count_step };
	assert_int_equal(ingest_open(&ingest, path, false, &sink, &e), 0);
	analyzer_start(&a, &ingest.dict.t, NULL);
	ingest_read(&ingest);
	ingest_finish(&ingest, false);
	summary_fill(&f, &a.timeline);
	summary_fill_run(&f, &ingest.run);
	assert_int_equal(shown, 1);
	assert_int_equal(f.warm_up.n, 2);
	assert_int_equal(f.baseline.n, STEPS - 3); /* the last has no end */
	assert_float_equal(f.baseline.mean, 10, 1e-4);
	assert_float_equal(f.recorded.mean, 10, 1e-4);
	assert_int_equal(f.device_peak_bytes, 100 * STEPS);
	assert_float_equal(f.at_peak.at[0].bytes, 100 * STEPS, 1e-9);
	assert_int_equal(f.leaks.n, 1);
	assert_float_equal(f.leaks.at[0].bytes, 100, 1e-9);
	assert_int_equal(f.once.n, 3);
	assert_string_equal(f.once.at[0].what, "first launch of late_kernel");
	assert_float_equal(f.once.at[0].ms, 5, 1e-3);
	assert_float_equal(f.once.at[1].ms, 40, 0.1);
	assert_float_equal(f.once.at[2].ms, 60, 0.1);
	findings_free(&f);
	analyzer_free(&a);
	ingest_close(&ingest);
	unlink(path);
}

/*
 * Frees of an allocator that needs room, each followed by the allocation that it was for; and frees
 * that the user asked for.
 */
static void retries_within_an_allocator(void **state)
{
	struct fixture *f = *state;
	struct run run = { .tables = &f->b.tables };
	fake_add(5, "train.py", 50, "release_cached_blocks", "", "");
	fake_add(6, "train.py", 60, "emptyCache", "", "");
	f->f.timeline = &f->a.timeline;
	for (uint64_t i = 1; i <= 20; i++) {
		const struct memory_call alloc = { .address = i,
						   .bytes = 8,
						   .stack = 4,
						   .category = CAT_ALLOC,
						   .space = SPACE_DEVICE };
		const struct memory_call release = { .address = i,
						     .stack = i % 2 ? 5 : 6,
						     .category = CAT_FREE,
						     .space = SPACE_DEVICE };
		memory_apply(&run.memory, &alloc);
		memory_apply(&run.memory, &release);
		memory_end_step(&run.memory);
	}
	summary_fill_run(&f->f, &run);
	assert_float_equal(f->f.retries, 0.5, 1e-9);
	run_free(&run);
}

/* Steps of one window that took twice as long: that is said, and not as what recording cost. */
static void one_window_may_be_the_machine(void **state)
{
	struct findings found = { 0 };
	struct run *run = mem_zero(sizeof(*run));
	(void)state;
	for (int i = 0; i < 125; i++) {
		bool is_recorded = i >= 60 && i < 65;
		cost_add(&run->cost, (i % 2 ? 10 : 10.1) * (is_recorded ? 2.1 : 1),
			 is_recorded ? COST_RECORDED : COST_PLAIN);
	}
	summary_fill_run(&found, run);
	assert_false(found.cost.is_known);
	assert_int_equal(found.unavailable.n, 1);
	assert_string_equal(found.unavailable.at[0].what, "recording overhead");
	assert_non_null(strstr(found.unavailable.at[0].why, "by +111 % from the steps around it"));
	findings_free(&found);
	free(run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernels),
		TEST(rows_of_equal_time_are_sorted_by_name),
		TEST(copies),
		TEST(copies_agree_with_waits),
		TEST(a_batch_is_waited_for),
		TEST(a_wait_on_another_line_is_its_own),
		TEST(lines),
		TEST(lines_of_a_full_queue),
		TEST(operators),
		TEST(retries_within_an_allocator),
		TEST(averaged_over_steps_with_gpu_times),
		TEST(phases_are_sorted_by_host_time),
		TEST(guessed_phases_are_reported),
		TEST(phases_of_typical_steps),
		TEST(missing_names_are_reported),
		cmocka_unit_test(what_the_run_says),
		cmocka_unit_test(one_window_may_be_the_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
