/*
 * Journals of PROF_STEP=auto made into traces afterwards: steps learned from the journal alone,
 * earlier numbers corrected.
 */
#include "core/runtime/token.h"
#include "core/source/process/driver_parts.h"
#include "export/process.h"
#include "export/process_facts.h"
#include "test/unit/journal_builder.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 40, LAUNCHES = 12, STEP_NS = 1000000 };

static char folder[] = "/tmp/test-process-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
	(void)status;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static uint64_t token_of_launch(uint32_t i)
{
	const uint32_t grid[3] = { i + 1, 1, 1 }, block[3] = { 128, 1, 1 };
	return token_launch(0x1000 + i, grid, block);
}

/*
 * A loop of distinct launches whose last three are an optimizer's; the first step has some set-up
 * before it.
 */
static struct journal_builder *learning_run(const char *schedule)
{
	struct journal_builder *b = jb_new(64, 4096);
	uint32_t seq = 0;
	b->header->steps.mode = STEP_MODE_AUTO;
	b->header->steps.state = STEP_STATE_LEARNING;
	jb_info(b, "PROF_SCHEDULE", schedule);
	jb_thread(b, 1, 100, "main");
	jb_string(b, 1, "forward");
	jb_string(b, 2, "adam_step");
	for (uint32_t i = 0; i < LAUNCHES; i++)
		jb_launch_shape(b, token_of_launch(i), i < LAUNCHES - 3 ? 1 : 2, i + 1);
	jb_step(b, 1, STEP_BEGIN, 1, 0, strcmp(schedule, "always") ? SCHED_NONE : SCHED_RECORD);
	for (uint32_t i = 0; i < 3; i++)
		jb_call(b, 1, JB_LAUNCH, 100 + i * 100, 50, ++seq, token_of_launch(2 * i));
	for (uint32_t step = 0; step < STEPS; step++)
		for (uint32_t i = 0; i < LAUNCHES; i++)
			jb_call(b, 1, JB_LAUNCH, 1000 + (uint64_t)step * STEP_NS + i * 10000, 3000,
				++seq, token_of_launch(i));
	jb_end(b, 1000 + (uint64_t)STEPS * STEP_NS);
	return b;
}

struct answer {
	uint64_t n_steps, n_traces, n_passes;
	double mean_ms;
	VEC(uint64_t) recorded;
	char diagnostic[240], detector[32];
	bool is_corrected; /* the facts say that earlier steps are excluded */
};

static struct answer export_run(const struct journal_builder *b)
{
	char path[64];
	struct output out = { .is_plain = true, .n_formats = 1, .formats = { &exporter_perfetto } };
	struct answer a = { 0 };
	struct process p;
	struct err e = { "" };
	snprintf(path, sizeof(path), "%s/%u.journal", folder, JB_PID);
	snprintf(out.folder, sizeof(out.folder), "%s", folder);
	jb_write(b, path);
	uint64_t n_passes = reader_count_passes();
	assert_int_equal(process_export(&p, &out, path, &e), 0);
	a.n_passes = reader_count_passes() - n_passes;
	assert_string_equal(driver_trouble(p.driver), "");
	a.n_steps = ingest_count_steps(p.driver->ingest);
	a.n_traces = p.n_traces;
	a.mean_ms = p.driver->ingest->run.step_ms.mean;
	for (size_t i = 0; i < p.driver->ingest->recorded.n; i++)
		vec_push(&a.recorded, p.driver->ingest->recorded.at[i]);
	snprintf(a.diagnostic, sizeof(a.diagnostic), "%s", driver_diagnostic(p.driver));
	struct arena arena = { 0 };
	struct process_facts facts;
	process_describe(&p, &facts, &arena);
	snprintf(a.detector, sizeof(a.detector), "%s", facts.steps.detector);
	a.is_corrected = facts.steps.corrected;
	arena_free(&arena);
	process_close(&p);
	output_free(&out);
	return a;
}

static void test_learns_steps_from_the_journal_alone(void **state)
{
	(void)state;
	struct journal_builder *b = learning_run("skip_first=10,wait=0,warmup=2,active=3,repeat=1");
	struct answer a = export_run(b);
	assert_int_equal(a.n_steps, STEPS);
	assert_int_equal(a.n_passes, 2);
	assert_int_equal(a.n_traces, 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(a.recorded.at[i], 12 + i);
	assert_true(a.mean_ms > 0.999 && a.mean_ms < 1.001);
	vec_free(&a.recorded);
	jb_free(b);
}

static void test_always_splits_all_of_the_run(void **state)
{
	(void)state;
	struct journal_builder *b = learning_run("always");
	struct answer a = export_run(b);
	assert_int_equal(a.n_steps, STEPS);
	assert_int_equal(a.n_traces, STEPS);
	vec_free(&a.recorded);
	jb_free(b);
}

static void test_says_when_the_schedule_came_too_late(void **state)
{
	(void)state;
	struct journal_builder *b =
		learning_run("skip_first=100,wait=0,warmup=0,active=3,repeat=1");
	struct answer a = export_run(b);
	assert_int_equal(a.n_steps, STEPS);
	assert_int_equal(a.n_traces, 1); /* the run as a whole */
	assert_int_equal(a.n_passes, 3); /* lengths of steps, then the run as a whole */
	assert_non_null(strstr(a.diagnostic, "only 40 steps ran, but "));
	assert_non_null(strstr(a.diagnostic, "starts at step 100 (counted from 0)"));
	vec_free(&a.recorded);
	jb_free(b);
}

/* Nothing repeats: it abstains, says so, and shows the run as a whole. */
static void test_abstains_where_nothing_repeats(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(64, 4096);
	b->header->steps.mode = STEP_MODE_AUTO;
	jb_thread(b, 1, 100, "main");
	for (uint32_t i = 0; i < 400; i++)
		jb_call(b, 1, JB_LAUNCH, 1000 + i * 1000, 300, i + 1, token_of_launch(i));
	jb_end(b, 1000000);
	struct answer a = export_run(b);
	assert_int_equal(a.n_steps, 0);
	assert_int_equal(a.n_traces, 1);
	assert_int_equal(a.n_passes, 2);
	assert_non_null(strstr(a.diagnostic, "no repeating step"));
	vec_free(&a.recorded);
	jb_free(b);
}

static void test_says_what_detected_the_steps(void **state)
{
	(void)state;
	for (uint32_t wants = 0; wants < 2; wants++) {
		struct journal_builder *b = learning_run("always");
		b->header->steps.wants_optimizer = wants;
		struct answer a = export_run(b);
		assert_int_equal(a.n_steps, STEPS);
		assert_int_equal(a.n_passes, 2);
		assert_string_equal(a.detector, wants ? "optimizer" : "auto");
		vec_free(&a.recorded);
		jb_free(b);
	}
}

/* The mode is the one that was set, so no diagnostic tells to set one. */
static void test_says_why_no_step_of_that_kind_came(void **state)
{
	(void)state;
	static const struct {
		uint32_t mode;
		const char *value, *why;
	} cases[] = {
		{ STEP_MODE_KERNEL, "kernel:SGD",
		  "PROF_STEP=kernel:SGD: no kernel whose (mangled) name matches was launched more "
		  "than once; launched: forward, adam_step" },
		{ STEP_MODE_GRAPH, "graph",
		  "PROF_STEP=graph: no CUDA graph was launched more than once" },
		{ STEP_MODE_SYNC, "sync",
		  "PROF_STEP=sync: no launch followed a synchronization (such as "
		  "cudaDeviceSynchronize; a blocking cudaMemcpy does not count), so no step "
		  "ended" },
		{ STEP_MODE_TIME, "time:9000",
		  "PROF_STEP=time:9000: the program launched nothing after" },
		{ STEP_MODE_API, "api",
		  "PROF_STEP=api: neither cudaProfilerStart() nor profrun_step() was called" },
		{ STEP_MODE_NVTX, "nvtx:x", "PROF_STEP=nvtx:x: no NVTX range of that name" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct journal_builder *b =
			learning_run("skip_first=10,wait=0,warmup=2,active=3,repeat=1");
		b->header->steps.mode = cases[i].mode;
		b->header->steps.state = STEP_STATE_OWN;
		jb_info(b, "PROF_STEP", cases[i].value);
		struct answer a = export_run(b);
		assert_int_equal(a.n_passes, 2);
		assert_ptr_equal(strstr(a.diagnostic, cases[i].why), a.diagnostic);
		vec_free(&a.recorded);
		jb_free(b);
	}
}

/*
 * Stores in the header that the library has adopted the last launch of a step as the anchor, during
 * step `base`. Returns the anchor.
 */
static uint64_t lock_steps(struct journal_builder *b, uint32_t generation, uint64_t base)
{
	struct journal_steps *s = &b->header->steps;
	const uint32_t last = LAUNCHES - 1;
	s->state = STEP_STATE_CONFIRMED;
	s->anchor = token_trigram(token_of_launch(last - 2), token_of_launch(last - 1),
				  token_of_launch(last));
	s->anchor_generation = s->base_generation = generation;
	s->base = base;
	return s->anchor;
}

static void add_event(struct journal_builder *b, uint64_t ticks, const struct rec_step *of)
{
	struct rec_step s = *of;
	s.kind = REC_STEP;
	s.words = sizeof(s) / 8;
	s.ticks = JB_START + ticks;
	jb_record(b, 1, &s, sizeof(s));
}

/*
 * The library adopted the anchor during step 20 and locked two steps later. What it counted itself,
 * what it numbered itself, and what was over before then form one sequence.
 */
static void test_earlier_numbers_are_corrected(void **state)
{
	(void)state;
	struct journal_builder *b = learning_run("always");
	lock_steps(b, 1, 20);
	for (uint32_t own = 1; own <= 2; own++)
		add_event(b, 990 + (uint64_t)(20 + own) * STEP_NS,
			  &(struct rec_step){
				  .event = STEP_COUNTED, .generation = 1, .number = own });
	for (uint32_t step = 23; step < STEPS; step++)
		jb_step(b, 1, STEP_BEGIN, 990 + (uint64_t)step * STEP_NS, step, SCHED_RECORD);
	struct answer a = export_run(b);
	assert_int_equal(a.recorded.n, STEPS);
	for (uint64_t i = 0; i < STEPS; i++)
		assert_int_equal(a.recorded.at[i], i);
	assert_int_equal(a.n_traces, STEPS);
	assert_int_equal(a.n_passes, 2);
	assert_true(a.mean_ms > 0.999 && a.mean_ms < 1.001);
	vec_free(&a.recorded);
	jb_free(b);
}

/*
 * The collector replaced a provisional anchor when the process had ended. So the journal does not
 * list the new anchor, and the steps of the listed one are void.
 */
static void test_an_anchor_that_came_too_late_counts(void **state)
{
	(void)state;
	struct journal_builder *b = learning_run("always");
	uint64_t anchor = lock_steps(b, 2, 0);
	b->header->steps.base_generation = b->header->steps.void_generation = 1;
	add_event(b, 980 + 20 * STEP_NS,
		  &(struct rec_step){ .event = STEP_NUMBERED,
				      .generation = 1,
				      .detail = anchor + 2,
				      .number = 5 });
	for (uint32_t step = 20; step < STEPS; step += 4)
		add_event(b, 990 + (uint64_t)step * STEP_NS,
			  &(struct rec_step){ .event = STEP_BEGIN,
					      .generation = 1,
					      .number = 1 + step / 4,
					      .action = SCHED_RECORD });
	struct answer a = export_run(b);
	assert_true(a.n_steps == STEPS || a.n_steps == STEPS - 1); /* the last one has no end */
	vec_free(&a.recorded);
	jb_free(b);
}

/*
 * The schedule's steps were recorded while the library counted with an anchor that proved wrong.
 * The right steps end before the schedule's, so those of the opening are shown.
 */
static void test_void_steps_do_not_serve_the_schedule(void **state)
{
	(void)state;
	enum { WRONG_FIRST = 90, WRONG_LAST = 104 };
	struct journal_builder *b =
		learning_run("skip_first=100,wait=0,warmup=0,active=3,repeat=1");
	uint64_t anchor = lock_steps(b, 2, 0);
	jb_step(b, 1, STEP_BEGIN, 2, 0, SCHED_OPENING);
	add_event(b, 980 + STEP_NS,
		  &(struct rec_step){ .event = STEP_NUMBERED,
				      .generation = 1,
				      .detail = anchor + 2,
				      .number = WRONG_FIRST });
	for (uint64_t number = WRONG_FIRST; number <= WRONG_LAST; number++)
		add_event(b, 990 + (number - WRONG_FIRST + 1) * STEP_NS,
			  &(struct rec_step){ .event = STEP_BEGIN,
					      .generation = 1,
					      .number = number,
					      .action = number >= 100 && number < 103
								? SCHED_RECORD
								: SCHED_OPENING });
	b->header->steps.base_generation = b->header->steps.void_generation = 1;
	b->header->steps.n_corrected = 1;
	struct answer a = export_run(b);
	assert_in_range(a.n_steps, STEPS - 1, STEPS); /* the last one has no end */
	assert_in_range(a.recorded.n, STEPS - 2, STEPS);
	assert_int_equal(a.n_traces, 3);
	assert_false(a.is_corrected); /* all of the opening is cut into the right steps */
	vec_free(&a.recorded);
	add_event(b, 500 + (uint64_t)STEPS * STEP_NS,
		  &(struct rec_step){ .event = STEP_OPENING_ENDED, .generation = 2 });
	a = export_run(b);
	assert_false(a.is_corrected); /* nor does the end of the opening leave out any */
	vec_free(&a.recorded);
	jb_free(b);
}

/*
 * The library counted with two anchors, one after the other: both are in the journal, and the steps
 * that each one ended unseen are found in the same two passes.
 */
static void test_several_anchors_take_two_passes(void **state)
{
	(void)state;
	struct journal_builder *b = learning_run("always");
	uint64_t anchor = lock_steps(b, 2, 30);
	for (uint32_t generation = 1; generation <= 2; generation++) {
		const uint32_t base = generation == 1 ? 10 : 30;
		add_event(b, 980 + (uint64_t)base * STEP_NS,
			  &(struct rec_step){ .event = STEP_NUMBERED,
					      .generation = generation,
					      .detail = anchor,
					      .number = base });
		add_event(b, 990 + (uint64_t)(base + 1) * STEP_NS,
			  &(struct rec_step){
				  .event = STEP_COUNTED, .generation = generation, .number = 1 });
	}
	for (uint32_t step = 32; step < STEPS; step++)
		add_event(b, 990 + (uint64_t)step * STEP_NS,
			  &(struct rec_step){ .event = STEP_BEGIN,
					      .generation = 2,
					      .number = step,
					      .action = SCHED_RECORD });
	struct answer a = export_run(b);
	assert_int_equal(a.n_passes, 2);
	assert_int_equal(a.n_steps, STEPS - 1); /* the last one has no end */
	/* 0 to 10 before the first base, its step 11, and all of the second's */
	for (uint64_t i = 0; i <= 11; i++)
		assert_int_equal(a.recorded.at[i], i);
	assert_int_equal(a.recorded.at[a.recorded.n - 1], STEPS - 1);
	vec_free(&a.recorded);
	jb_free(b);
}

static long peak_kb(void)
{
	struct rusage usage;
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

/* A damaged header must not make the reader allocate memory for each generation. */
static void test_memory_does_not_grow_with_the_generation(void **state)
{
	(void)state;
	enum { GENERATION = 1 << 26, MOST_KB = GENERATION / 1024 };
	struct journal_builder *b = learning_run("always");
	struct output out = { .step_loop = "train.py:1" };
	struct process p;
	struct err e = { "" };
	char path[64];
	snprintf(path, sizeof(path), "%s/damaged.journal", folder);
	b->header->steps.anchor_generation = GENERATION;
	jb_write(b, path);
	long before_kb = peak_kb();
	assert_int_equal(process_export(&p, &out, path, &e), -ENOENT);
	assert_true(peak_kb() - before_kb < MOST_KB);
	jb_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learns_steps_from_the_journal_alone),
		cmocka_unit_test(test_always_splits_all_of_the_run),
		cmocka_unit_test(test_says_when_the_schedule_came_too_late),
		cmocka_unit_test(test_abstains_where_nothing_repeats),
		cmocka_unit_test(test_says_what_detected_the_steps),
		cmocka_unit_test(test_says_why_no_step_of_that_kind_came),
		cmocka_unit_test(test_earlier_numbers_are_corrected),
		cmocka_unit_test(test_an_anchor_that_came_too_late_counts),
		cmocka_unit_test(test_void_steps_do_not_serve_the_schedule),
		cmocka_unit_test(test_several_anchors_take_two_passes),
		cmocka_unit_test(test_memory_does_not_grow_with_the_generation),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
