/*
 * From a journal to steps: where each call and each piece of GPU work belongs, what is counted,
 * what a model holds.
 */
#include "core/source/journal/ingest.h"
#include "test/unit/journal_ingest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* What a step's model said, kept after it is gone. */
struct seen_step {
	uint64_t number;
	size_t n_calls, n_works, n_linked, n_streams, n_lanes, n_notes, n_samples;
	uint64_t without_work, without_call, begin_ns, end_ns;
	struct launch_counts launches;
	int64_t memory_first, memory_last;
	bool is_cut, is_whole_run, all_within;
	size_t n_earlier;
	uint64_t earlier_until_ns;
	char first_work[64];
};

struct seen {
	VEC(struct seen_step) steps;
};

static void look_at(void *context, struct ingest *f, struct model_step *m)
{
	struct seen *seen = context;
	(void)f;
	struct seen_step s = {
		.number = m->number,
		.n_calls = m->calls.n,
		.n_works = m->works.n,
		.n_streams = m->streams.n,
		.n_notes = m->notes.n,
		.n_samples = m->samples.n,
		.without_work = m->n_calls_without_work,
		.without_call = m->n_works_without_call,
		.launches = m->launches,
		.begin_ns = m->begin_ns - JB_START,
		.end_ns = m->end_ns - JB_START,
		.is_cut = m->is_cut,
		.is_whole_run = m->is_whole_run,
		.all_within = true,
		.n_earlier = m->earlier.n,
		.earlier_until_ns = m->earlier.n ? m->earlier.at[0].end_ns - JB_START : 0,
	};
	for (size_t i = 0; i < m->calls.n; i++)
		s.all_within &= m->calls.at[i].begin_ns >= m->begin_ns &&
				m->calls.at[i].begin_ns < m->end_ns + 1;
	for (size_t i = 0; i < m->works.n; i++)
		s.n_linked += m->works.at[i].call != MODEL_NO_CALL;
	for (size_t i = 0; i < m->streams.n; i++)
		s.n_lanes += m->streams.at[i].n_lanes;
	if (m->works.n)
		snprintf(s.first_work, sizeof(s.first_work), "%s",
			 strtab_text(&m->tables->names, m->works.at[0].name));
	for (size_t i = 0; i < m->counters.n; i++) {
		const struct model_counter *c = &m->counters.at[i];
		if (strcmp(c->name, "device memory allocated"))
			continue;
		s.memory_first = c->points.at[0].value;
		s.memory_last = c->points.at[c->points.n - 1].value;
	}
	vec_push(&seen->steps, s);
}

static struct seen ingest_file(const struct journal_builder *b, bool killed,
			       struct ingest_counts *counts)
{
	struct seen seen = { 0 };
	struct ingest f;
	const struct ingest_sink sink = { .context = &seen, .step = look_at };
	ingest_written(&f, b, &sink, killed);
	if (counts)
		*counts = f.counts;
	ingest_close(&f);
	return seen;
}

/* Returns the begin of a journal: thread 1, kernel 1 and a GPU that is recorded. */
static struct journal_builder *kernel_run(void)
{
	struct journal_builder *b = jb_new(16, 4096);
	jb_thread(b, 1, 100, "main");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 5, 0);
	return b;
}

/* Ends the last step, number `step`, and the journal, with all GPU records delivered. */
static struct seen ingest_flushed(struct journal_builder *b, uint64_t end, uint64_t step,
				  struct ingest_counts *counts)
{
	jb_step(b, 1, STEP_BEGIN, end, step, SCHED_NONE);
	jb_gpu_state(b, 1, GPU_FLUSHED, end, 0);
	jb_end(b, end + 10000);
	return ingest_file(b, false, counts);
}

enum { STEP_NS = 400000000, LAUNCHES = 20 };

/*
 * Steps of 0.4 s: thread 1 launches, thread 2 copies, thread 9 carries CUPTI's records, a step late
 * and in reverse. Steps 2 and 3 are recorded.
 */
static struct journal_builder *training_run(uint32_t n_steps)
{
	struct journal_builder *b = jb_new(64, 4096);
	uint32_t seq[3] = { 0 };
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "loader");
	jb_thread(b, 3, 102, "idle");
	jb_thread(b, 9, 109, "cupti");
	jb_thread(b, 10, 110, "profrun-host");
	jb_string(b, 1, "_Z6kernelPf");
	jb_launch_shape(b, 7, 1, 16);
	jb_kernel(b, 1, 1);
	jb_device(b, 0, "Test GPU");
	jb_alloc(b, 1, JB_MALLOC, 10, 0x1000, 1000);
	for (uint32_t step = 0; step < n_steps; step++) {
		uint64_t t = 1000 + (uint64_t)step * STEP_NS;
		bool is_recorded = step == 2 || step == 3;
		if (step)
			jb_step(b, 1, STEP_BEGIN, t, step, is_recorded ? SCHED_RECORD : SCHED_NONE);
		if (step == 2)
			jb_gpu_state(b, 1, GPU_ON, t, 0);
		if (step == 4)
			jb_gpu_state(b, 1, GPU_OFF, t, 0);
		if (step == 3)
			jb_alloc(b, 2, JB_MALLOC, t + 50, 0x2000, 500);
		jb_sample(b, 10, 1, SAMPLE_RUNNING, t + 1700, 5);
		jb_sample(b, 10, 3, SAMPLE_SLEEP, t + 1800, 6);
		jb_sample(b, 10, 2, SAMPLE_LOCK, t + 2750, 0);
		jb_sample(b, 10, 1, SAMPLE_IO, t + 2800, 5);
		for (uint32_t i = 0; i < LAUNCHES; i++) {
			jb_call(b, 1, JB_LAUNCH, t + 1000 + i * 1000, 500, ++seq[1], 7);
			jb_call(b, 2, JB_MEMCPY, t + 1200 + i * 1000, 500, ++seq[2], 4096);
		}
		if (step == 3)
			jb_alloc(b, 1, JB_FREE, t + 90000, 0x1000, 0);
		if (step < 3 || step > 4)
			continue;
		/* the GPU's records of the step before, last first */
		for (uint32_t i = LAUNCHES; i > 0; i--) {
			uint32_t correlation = (step - 1) * 1000 + i;
			uint64_t at = t - STEP_NS + 5000 + i * 1000;
			jb_external(b, 9, correlation, 1, (step - 1) * LAUNCHES + i);
			jb_work(b, 9, REC_KERNEL, 1, at, 800, correlation, 7);
			jb_external(b, 9, correlation + 500, 2, (step - 1) * LAUNCHES + i);
			jb_work(b, 9, REC_MEMCPY, 1 | 2 << 8 | 3 << 16, at, 1500, correlation + 500,
				8);
		}
	}
	return b;
}

static void test_calls_and_work_go_to_their_steps(void **state)
{
	(void)state;
	struct journal_builder *b = training_run(6);
	jb_end(b, 6ull * STEP_NS);
	struct ingest_counts counts;
	struct seen seen = ingest_file(b, false, &counts);
	assert_int_equal(seen.steps.n, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct seen_step *s = &seen.steps.at[i];
		assert_int_equal(s->number, 2 + i);
		assert_int_equal(s->n_calls, 2 * LAUNCHES + (i ? 2 : 0));
		assert_int_equal(s->n_works, 2 * LAUNCHES);
		assert_int_equal(s->n_linked, 2 * LAUNCHES);
		assert_int_equal(s->n_streams, 2);
		assert_int_equal(s->n_lanes, 3); /* copies of 1.5 us every 1 us overlap */
		assert_int_equal(s->without_work, 0);
		assert_int_equal(s->launches.n, LAUNCHES);
		assert_int_equal(s->launches.n_captured, LAUNCHES);
		assert_int_equal(s->begin_ns, 1000 + s->number * STEP_NS);
		assert_int_equal(s->end_ns, 1000 + (s->number + 1) * STEP_NS);
		assert_true(s->all_within);
		assert_string_equal(s->first_work, "kernel(float*)");
	}
	assert_int_equal(seen.steps.at[0].memory_first, 1000);
	assert_int_equal(seen.steps.at[1].memory_first, 1000);
	assert_int_equal(seen.steps.at[1].memory_last, 500);
	assert_int_equal(counts.paired, 4 * LAUNCHES);
	assert_int_equal(counts.steps, 5);
	vec_free(&seen.steps);
	jb_free(b);
}

static void test_counts_what_is_missing(void **state)
{
	(void)state;
	struct journal_builder *b = kernel_run();
	struct ingest_counts counts;
	jb_step(b, 1, STEP_BEGIN, 10, 1, SCHED_RECORD_AND_SAVE);
	jb_call(b, 1, JB_LAUNCH, 100, 50, 1, 7); /* has work */
	jb_call(b, 1, JB_LAUNCH, 200, 50, 2, 7); /* none came */
	jb_dropped(b, 1, 3, 300, 400);
	jb_call(b, 1, JB_BEGIN_CAPTURE, 420, 10, 0, 0);
	jb_call(b, 1, JB_LAUNCH, 450, 10, 6, 7); /* into a graph: none will come */
	jb_call(b, 1, JB_END_CAPTURE, 470, 10, 0, 0);
	jb_call(b, 1, JB_GRAPH, 500, 50, 7, 7); /* three kernels */
	jb_external(b, 1, 1, 1, 1);
	jb_external(b, 1, 2, 1, 7);
	jb_external(b, 1, 4, 1, 4); /* its call was dropped */
	jb_work(b, 1, REC_KERNEL, 1, 300, 50, 1, 7);
	for (int i = 0; i < 3; i++)
		jb_work(b, 1, REC_KERNEL, 1, 600 + (uint64_t)i * 50, 50, 2, 7);
	jb_work(b, 1, REC_KERNEL, 1, 900, 50, 3, 7); /* nobody knows whose */
	jb_work(b, 1, REC_KERNEL, 1, 950, 50, 4, 7);
	jb_gpu_state(b, 1, GPU_LOST, 1000, 5);
	jb_end(b, 2000);
	struct seen seen = ingest_file(b, false, &counts);
	assert_int_equal(seen.steps.n, 1);
	assert_int_equal(seen.steps.at[0].n_works, 6);
	assert_int_equal(seen.steps.at[0].n_linked, 4);
	assert_int_equal(seen.steps.at[0].without_work, 1);
	assert_int_equal(seen.steps.at[0].without_call, 2);
	/* the launch without work, and three calls between the numbers 2 and 6 */
	assert_int_equal(seen.steps.at[0].launches.n, 6);
	assert_int_equal(seen.steps.at[0].launches.n_captured, 2);
	assert_int_equal(seen.steps.at[0].launches.n_lacking[LACK_DROPPED], 4);
	assert_int_equal(counts.paired, 2);
	assert_int_equal(counts.calls_without_work, 1);
	assert_int_equal(counts.works_without_call, 2);
	assert_int_equal(counts.dropped, 3);
	assert_int_equal(counts.gpu_lost, 5);
	assert_true(seen.steps.at[0].n_notes >= 3);
	vec_free(&seen.steps);
	jb_free(b);
}

/* The program captures in every step, and steps begin inside the capture: what was captured expects
 * no work, also in the first recorded step, of whose capture only the end was recorded. */
static void test_steps_that_begin_in_a_capture(void **state)
{
	(void)state;
	struct journal_builder *b = kernel_run();
	struct ingest_counts counts;
	for (uint32_t step = 1; step <= 3; step++) {
		uint64_t t = step * 1000;
		jb_step(b, 1, STEP_BEGIN, t, step, SCHED_RECORD);
		jb_call(b, 1, JB_LAUNCH, t + 10, 10, step * 10, 7);
		jb_call(b, 1, JB_END_CAPTURE, t + 30, 10, 0, 0);
		jb_call(b, 1, JB_GRAPH, t + 50, 10, step * 10 + 1, 7);
		jb_external(b, 1, step, 1, step * 10 + 1);
		jb_work(b, 1, REC_KERNEL, 1, t + 100, 50, step, 7);
		jb_call(b, 1, JB_BEGIN_CAPTURE, t + 900, 10, 0, 0);
	}
	jb_end(b, 5000);
	struct seen seen = ingest_file(b, false, &counts);
	assert_int_equal(seen.steps.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(seen.steps.at[i].launches.n, 1);
		assert_int_equal(seen.steps.at[i].launches.n_captured, 1);
		assert_int_equal(seen.steps.at[i].without_work, 0);
	}
	assert_int_equal(counts.paired, 3);
	assert_int_equal(counts.calls_without_work, 0);
	vec_free(&seen.steps);
	jb_free(b);
}

/* The process was killed before CUPTI delivered the work of the last two steps' launches. */
static void test_launches_of_a_killed_process(void **state)
{
	struct journal_builder *b = jb_new(16, 4096);
	(void)state;
	jb_thread(b, 1, 100, "main");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 5, 0);
	for (uint32_t step = 1; step < 4; step++) {
		jb_step(b, 1, STEP_BEGIN, 1000 * step, step, SCHED_RECORD);
		jb_call(b, 1, JB_LAUNCH, 1000 * step + 100, 50, step, 7);
		if (step > 1)
			continue;
		jb_external(b, 1, step, step, step);
		jb_work(b, 1, REC_KERNEL, step, 1000 * step + 300, 50, 1, 7);
	}
	struct seen seen = ingest_file(b, true, NULL);
	assert_int_equal(seen.steps.n, 3);
	assert_int_equal(seen.steps.at[0].launches.n_captured, 1);
	assert_int_equal(seen.steps.at[1].launches.n_lacking[LACK_KILLED], 1);
	assert_int_equal(seen.steps.at[2].launches.n_lacking[LACK_KILLED], 1);
	vec_free(&seen.steps);
	jb_free(b);
}

/* The application's own profiler had CUPTI during the first step only. */
static void test_launches_while_another_profiler_had_cupti(void **state)
{
	struct journal_builder *b = jb_new(16, 4096);
	(void)state;
	jb_thread(b, 1, 100, "main");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_YIELDED, 5, 0);
	jb_step(b, 1, STEP_BEGIN, 10, 1, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 100, 50, 1, 7);
	jb_gpu_state(b, 1, GPU_OFF, 900, 0);
	jb_step(b, 1, STEP_BEGIN, 1000, 2, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 1100, 50, 3, 7);
	struct seen seen = ingest_flushed(b, 2000, 3, NULL);
	assert_int_equal(seen.steps.n, 2);
	assert_int_equal(seen.steps.at[0].launches.n_lacking[LACK_YIELDED], 1);
	assert_int_equal(seen.steps.at[1].launches.n_lacking[LACK_OFF], 1);
	vec_free(&seen.steps);
	jb_free(b);
}

/* Launches of recorded steps before GPU timing was on, and whose records CUPTI dropped. */
static void test_launches_without_gpu_times(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(16, 4096);
	jb_thread(b, 1, 100, "main");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_step(b, 1, STEP_BEGIN, 10, 1, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 100, 50, 1, 7);
	jb_call(b, 1, JB_MEMCPY, 200, 50, 2, 4096); /* not a launch */
	jb_gpu_state(b, 1, GPU_ON, 1000, 0);
	jb_step(b, 1, STEP_BEGIN, 1000, 2, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 1100, 50, 3, 7);
	jb_call(b, 1, JB_LAUNCH, 1200, 50, 4, 7);
	jb_external(b, 1, 1, 1, 3);
	jb_work(b, 1, REC_KERNEL, 1, 1300, 50, 1, 7);
	jb_gpu_state(b, 1, GPU_LOST, 1900, 1);
	struct seen seen = ingest_flushed(b, 2000, 3, NULL);
	assert_int_equal(seen.steps.n, 2);
	const struct launch_counts *before = &seen.steps.at[0].launches,
				   *after = &seen.steps.at[1].launches;
	assert_int_equal(before->n, 1);
	assert_int_equal(before->n_captured, 0);
	assert_int_equal(before->n_lacking[LACK_OFF], 1);
	assert_int_equal(after->n, 2);
	assert_int_equal(after->n_captured, 1);
	assert_int_equal(after->n_lacking[LACK_CUPTI], 1);
	vec_free(&seen.steps);
	jb_free(b);
}

/*
 * Two windows with half a second between them. Calls between them are in the journal too (steps are
 * being learned), without times of their work, while the first window's work is still delivered.
 * Only what is missing in the windows is missing. The later window's thread is read first.
 */
static void test_calls_between_windows_are_no_loss(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(16, 4096);
	struct ingest_counts counts;
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "other");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 2, GPU_ON, 500000000, 0);
	jb_step(b, 2, STEP_BEGIN, 500000100, 3, SCHED_RECORD);
	jb_call(b, 2, JB_LAUNCH, 500000200, 50, 1, 7); /* lost */
	jb_call(b, 2, JB_LAUNCH, 500000300, 50, 2, 7); /* lost */
	jb_gpu_state(b, 2, GPU_OFF, 500001000, 0);
	jb_step(b, 2, STEP_BEGIN, 500001000, 4, SCHED_NONE);
	jb_call(b, 2, JB_LAUNCH, 500001100, 50, 3, 7);
	jb_gpu_state(b, 1, GPU_ON, 5, 0);
	jb_step(b, 1, STEP_BEGIN, 10, 1, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 100, 50, 1, 7);
	jb_external(b, 1, 1, 1, 1);
	jb_work(b, 1, REC_KERNEL, 1, 300, 50, 1, 7);
	jb_call(b, 1, JB_LAUNCH, 200, 50, 2, 7); /* lost */
	jb_gpu_state(b, 1, GPU_OFF, 1000, 0);
	jb_step(b, 1, STEP_BEGIN, 1000, 2, SCHED_NONE);
	for (uint32_t i = 0; i < 10; i++)
		jb_call(b, 1, JB_LAUNCH, 1100 + i * 40000000ull, 50, 3 + i, 7);
	jb_gpu_state(b, 1, GPU_FLUSHED, 1000, 0);
	jb_end(b, 600000000);
	struct seen seen = ingest_file(b, false, &counts);
	assert_int_equal(counts.paired, 1);
	assert_int_equal(counts.calls_without_work, 3);
	vec_free(&seen.steps);
	jb_free(b);
}

/*
 * CUPTI was still on between two windows, and its records come after the steps between them have
 * been passed on. Only the work of the first window is late.
 */
static void test_late_work_between_windows_is_no_loss(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(16, 4096);
	struct ingest_counts counts;
	jb_thread(b, 1, 100, "main");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 5, 0);
	jb_step(b, 1, STEP_BEGIN, 10, 1, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 100, 50, 1, 7);
	jb_gpu_state(b, 1, GPU_OFF, 1000, 0);
	jb_step(b, 1, STEP_BEGIN, 1000, 2, SCHED_NONE);
	jb_gpu_state(b, 1, GPU_FLUSHED, 1000, 0);
	for (uint64_t i = 0; i < 200; i++) /* calls without GPU work fill some chunks */
		jb_call(b, 1, JB_SYNC, 2000 + i * 20000000, 50, 0, 0);
	jb_step(b, 1, STEP_BEGIN, 5000000000, 3, SCHED_RECORD);
	jb_gpu_state(b, 1, GPU_ON, 5000000001, 0);
	jb_call(b, 1, JB_LAUNCH, 5000000100, 50, 9, 7);
	for (uint64_t i = 0; i < 200; i++)
		jb_call(b, 1, JB_SYNC, 5000001000 + i * 20000000, 50, 0, 0);
	jb_work(b, 1, REC_KERNEL, 1, 300, 50, 1, 7);
	for (uint32_t i = 0; i < 5; i++)
		jb_work(b, 1, REC_KERNEL, 1, 2300 + i * 100, 50, 2 + i, 7);
	jb_external(b, 1, 9, 1, 9);
	jb_work(b, 1, REC_KERNEL, 1, 5000000300, 50, 9, 7);
	jb_end(b, 10000000000);
	struct seen seen = ingest_file(b, false, &counts);
	assert_int_equal(seen.steps.n, 2);
	assert_int_equal(counts.late, 1);
	vec_free(&seen.steps);
	jb_free(b);
}

/* A warm-up step's kernel goes on into the recorded one, whose own are not there yet. */
static void test_a_step_inherits_work_under_way(void **state)
{
	(void)state;
	struct journal_builder *b = kernel_run();
	struct ingest_counts counts;
	jb_step(b, 1, STEP_BEGIN, 10, 1, SCHED_WARMUP);
	for (uint32_t i = 1; i <= 4; i++) {
		if (i == 3)
			jb_step(b, 1, STEP_BEGIN, 3000, 2, SCHED_RECORD_AND_SAVE);
		jb_call(b, 1, JB_LAUNCH, i * 1000 + 100, 50, i, 7);
		jb_external(b, 1, i, 1, i);
		jb_work(b, 1, REC_KERNEL, 1, i * 1700, 1700, i, 7);
	}
	struct seen seen = ingest_flushed(b, 9000, 3, &counts);
	assert_int_equal(seen.steps.n, 1);
	assert_int_equal(seen.steps.at[0].n_works, 2);
	assert_int_equal(seen.steps.at[0].n_earlier, 2);
	assert_int_equal(seen.steps.at[0].earlier_until_ns, 3400);
	vec_free(&seen.steps);
	jb_free(b);
}

/*
 * Two windows, so close that CUPTI stayed on: the second window's first kernels belong to the step
 * before it, whose calls are not in the journal. They are neither lost nor work of this step.
 * `before`: CUPTI's number of the last call before all that.
 */
static void inherit_work_of_steps_between(uint32_t before)
{
	struct journal_builder *b = kernel_run();
	struct ingest_counts counts;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t at = 10 + i * 10000;
		uint32_t number = before + 10 * i + 1;
		jb_step(b, 1, STEP_BEGIN, at, i + 1, i == 1 ? SCHED_NONE : SCHED_RECORD_AND_SAVE);
		if (i != 1) {
			jb_call(b, 1, JB_LAUNCH, at + 100, 50, i + 1, 7);
			jb_external(b, 1, number, 1, i + 1);
		}
		jb_work(b, 1, REC_KERNEL, 1, at + 6000, 1000, number, 7);
	}
	jb_work(b, 1, REC_KERNEL, 1, 20100, 800, before + 15, 7);
	jb_work(b, 1, REC_KERNEL, 1, 21000, 800, before + 16, 7);
	jb_work(b, 1, REC_KERNEL, 1, 27500, 800, before + 25,
		7); /* launched behind the step's own: its call is lost */
	struct seen seen = ingest_flushed(b, 30010, 4, &counts);
	assert_int_equal(seen.steps.n, 2);
	assert_int_equal(seen.steps.at[1].n_works, 2);
	assert_int_equal(seen.steps.at[1].n_linked, 1);
	assert_int_equal(seen.steps.at[1].n_earlier, 2);
	assert_int_equal(counts.works_without_call, 1);
	vec_free(&seen.steps);
	jb_free(b);
}

static void test_a_window_inherits_work_of_steps_between(void **state)
{
	(void)state;
	inherit_work_of_steps_between(0);
	/* numbers wrap around: before what is between, behind it, behind the step's own */
	inherit_work_of_steps_between(UINT32_MAX - 13);
	inherit_work_of_steps_between(UINT32_MAX - 17);
	inherit_work_of_steps_between(UINT32_MAX - 22);
}

/*
 * If the step before is in the journal, work with a lower number than the step's own has lost its
 * call.
 */
static void test_a_call_lost_before_a_step_begins(void **state)
{
	(void)state;
	struct journal_builder *b = kernel_run();
	struct ingest_counts counts;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t at = 10 + i * 10000;
		jb_step(b, 1, STEP_BEGIN, at, i + 1, i ? SCHED_RECORD : SCHED_NONE);
		if (!i)
			continue;
		jb_call(b, 1, JB_LAUNCH, at + 100, 50, i, 7);
		jb_external(b, 1, 10 * i, 1, i);
		jb_work(b, 1, REC_KERNEL, 1, at + 6000, 1000, 10 * i, 7);
	}
	jb_work(b, 1, REC_KERNEL, 1, 21000, 800, 15, 7);
	struct seen seen = ingest_flushed(b, 30010, 4, &counts);
	assert_int_equal(seen.steps.n, 2);
	assert_int_equal(seen.steps.at[1].n_works, 2);
	assert_int_equal(counts.works_without_call, 1);
	vec_free(&seen.steps);
	jb_free(b);
}

/*
 * Work of a step that is not in the journal can also follow the warm-up, if the GPU has not reached
 * it when the window opens.
 */
static void test_a_window_inherits_work_of_steps_before_its_warmup(void **state)
{
	(void)state;
	struct journal_builder *b = kernel_run();
	struct ingest_counts counts;
	static const uint8_t actions[] = { SCHED_RECORD_AND_SAVE, SCHED_NONE, SCHED_WARMUP,
					   SCHED_RECORD_AND_SAVE };
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t at = 10 + i * 10000;
		jb_step(b, 1, STEP_BEGIN, at, i + 1, actions[i]);
		if (i != 1) {
			jb_call(b, 1, JB_LAUNCH, at + 100, 50, 10 * i + 1, 7);
			jb_external(b, 1, 10 * i + 1, 1, 10 * i + 1);
		}
	}
	/* the first step's, two of the one between, the warm-up's and the window's own */
	jb_work(b, 1, REC_KERNEL, 1, 6000, 20000, 1, 7);
	jb_work(b, 1, REC_KERNEL, 1, 31000, 500, 11, 7);
	jb_work(b, 1, REC_KERNEL, 1, 32000, 500, 15, 7);
	jb_work(b, 1, REC_KERNEL, 1, 33000, 500, 21, 7);
	jb_work(b, 1, REC_KERNEL, 1, 34000, 500, 31, 7);
	struct seen seen = ingest_flushed(b, 40010, 5, &counts);
	assert_int_equal(seen.steps.n, 2);
	assert_int_equal(seen.steps.at[1].n_works, 1);
	assert_int_equal(seen.steps.at[1].n_earlier, 3);
	assert_int_equal(counts.works_without_call, 0);
	vec_free(&seen.steps);
	jb_free(b);
}

static void test_steps_whose_ends_were_dropped_have_no_length(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(16, 4096);
	const struct ingest_sink sink = { 0 };
	struct ingest f;
	struct err e;
	jb_thread(b, 1, 100, "main");
	for (uint64_t step = 1; step < 10; step++)
		jb_step(b, 1, STEP_BEGIN, step * 1000000, step, SCHED_NONE);
	jb_dropped(b, 1, 30, 9500000, 39500000);
	for (uint64_t step = 40; step < 45; step++)
		jb_step(b, 1, STEP_BEGIN, step * 1000000, step, SCHED_NONE);
	jb_step(b, 1, STEP_OUTSIDE, 45000000, 0, SCHED_NONE);
	jb_end(b, 45000000);
	jb_write(b, path);
	assert_int_equal(ingest_open(&f, path, false, &sink, &e), 0);
	ingest_read(&f);
	ingest_finish(&f, false);
	assert_int_equal(ingest_count_steps(&f), 45);
	assert_int_equal(f.run.step_ms.n, 8 + 4);
	assert_true(f.run.step_ms.max < 1.01);
	ingest_close(&f);
	jb_free(b);
}

static void test_a_killed_process_gives_its_open_step(void **state)
{
	(void)state;
	struct journal_builder *b = training_run(4);
	struct seen seen = ingest_file(b, true, NULL);
	assert_int_equal(seen.steps.n, 2);
	assert_false(seen.steps.at[0].is_cut);
	assert_true(seen.steps.at[1].is_cut);
	assert_int_equal(seen.steps.at[1].number, 3);
	assert_int_equal(seen.steps.at[1].n_calls, 2 * LAUNCHES + 2);
	vec_free(&seen.steps);
	jb_free(b);
}

/*
 * A call that began before the boundary belongs to the step before, in any thread, however long it
 * takes.
 */
static void test_boundary_is_one_moment_for_all_threads(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(16, 4096);
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "other");
	jb_step(b, 1, STEP_BEGIN, 100, 1, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 150, 10, 1, 7);
	jb_call(b, 2, JB_SYNC, 199, 5000, 0, 0);
	jb_step(b, 1, STEP_BEGIN, 200, 2, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 200, 10, 2, 7);
	jb_call(b, 2, JB_LAUNCH, 5300, 10, 1, 7);
	jb_step(b, 1, STEP_OUTSIDE, 6000, 0, SCHED_NONE);
	jb_call(b, 1, JB_LAUNCH, 6100, 10, 3, 7);
	jb_end(b, 7000);
	struct seen seen = ingest_file(b, false, NULL);
	assert_int_equal(seen.steps.n, 2);
	assert_int_equal(seen.steps.at[0].n_calls, 2);
	assert_int_equal(seen.steps.at[1].n_calls, 2);
	assert_int_equal(seen.steps.at[0].end_ns, 200);
	vec_free(&seen.steps);
	jb_free(b);
}

/* The process's end is no step's: the last one ends with its last call or work. */
static void test_the_last_step_ends_with_what_it_did(void **state)
{
	(void)state;
	for (uint32_t work_ns = 100; work_ns <= 2000; work_ns += 1900) {
		struct journal_builder *b = jb_new(16, 4096);
		jb_thread(b, 1, 100, "main");
		jb_string(b, 1, "k");
		jb_kernel(b, 1, 1);
		jb_gpu_state(b, 1, GPU_ON, 5, 0);
		jb_step(b, 1, STEP_BEGIN, 100, 1, SCHED_RECORD);
		jb_call(b, 1, JB_LAUNCH, 150, 10, 1, 7);
		jb_step(b, 1, STEP_BEGIN, 1000, 2, SCHED_RECORD_AND_SAVE);
		jb_call(b, 1, JB_LAUNCH, 1100, 300, 2, 7);
		jb_external(b, 1, 2, 1, 2);
		jb_work(b, 1, REC_KERNEL, 1, 1200, work_ns, 2, 7);
		jb_step(b, 1, STEP_OUTSIDE, 900000, 2, SCHED_NONE);
		jb_gpu_state(b, 1, GPU_FLUSHED, 900000, 0);
		jb_end(b, 900100);
		struct seen seen = ingest_file(b, false, NULL);
		assert_int_equal(seen.steps.n, 2);
		assert_int_equal(seen.steps.at[0].end_ns, 1000);
		assert_int_equal(seen.steps.at[1].end_ns, work_ns == 100 ? 1400 : 3200);
		vec_free(&seen.steps);
		jb_free(b);
	}
}

/* No boundary ever: `always` gives one step of everything. */
enum { SHORT_STEPS = 1500, SHORT_NS = 500000, LATE_STEPS = 40, WITHOUT_WORK = 1002 };

static uint32_t launches_of(uint32_t step)
{
	return step % 5 + 1;
}

/*
 * A short step's GPU records: those of launches by CUPTI's external ids, that of the copy by its
 * record of the call.
 */
static void add_short_works(struct journal_builder *b, uint32_t step, uint32_t seq)
{
	uint64_t at = 1000 + (uint64_t)step * SHORT_NS;
	for (uint32_t i = 0; i < launches_of(step); i++) {
		uint32_t id = step * 8 + i;
		if (step == WITHOUT_WORK && !i)
			continue;
		jb_external(b, 9, id, 1, seq + i + 1);
		/* every seventh step's last kernel begins when the next step has begun */
		bool is_late = step % 7 == 0 && i + 1 == launches_of(step);
		jb_work(b, 9, REC_KERNEL, 1, at + 2000 + i * 1000 + (is_late ? SHORT_NS : 0), 800,
			id, 7);
	}
	jb_api(b, 9, step * 8 + 7, 101, at + 1300, at + 1600);
	jb_work(b, 9, REC_MEMCPY, 1, at + 9000, 800, step * 8 + 7, 8);
}

static struct journal_builder *short_steps(void)
{
	struct journal_builder *b = jb_new(512, 4096);
	uint32_t seq[2] = { 0 }, seq_of[SHORT_STEPS];
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "loader");
	jb_thread(b, 9, 109, "cupti");
	jb_string(b, 1, "kernel");
	jb_launch_shape(b, 7, 1, 16);
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 1, 0);
	for (uint32_t step = 0; step < SHORT_STEPS + LATE_STEPS; step++) {
		uint64_t at = 1000 + (uint64_t)step * SHORT_NS;
		if (step >= LATE_STEPS)
			add_short_works(b, step - LATE_STEPS, seq_of[step - LATE_STEPS]);
		if (step > SHORT_STEPS)
			continue;
		jb_step(b, 1, STEP_BEGIN, at, step, step < SHORT_STEPS ? SCHED_RECORD : SCHED_NONE);
		if (step == SHORT_STEPS)
			continue;
		seq_of[step] = seq[0];
		for (uint32_t i = 0; i < launches_of(step); i++)
			jb_call(b, 1, JB_LAUNCH, at + 1000 + i * 1000, 500, ++seq[0], 7);
		jb_call(b, 2, JB_MEMCPY, at + 1200, 500, ++seq[1], 4096);
	}
	jb_end(b, 2000 + (uint64_t)SHORT_STEPS * SHORT_NS);
	return b;
}

/* Hundreds of steps are held at a time, and closed in groups: each gets its own all the same. */
static void test_many_short_steps(void **state)
{
	struct journal_builder *b = short_steps();
	struct ingest_counts counts;
	(void)state;
	struct seen seen = ingest_file(b, false, &counts);
	assert_int_equal(seen.steps.n, SHORT_STEPS);
	for (uint32_t i = 0; i < SHORT_STEPS; i++) {
		const struct seen_step *s = &seen.steps.at[i];
		uint32_t n_missing = i == WITHOUT_WORK;
		assert_int_equal(s->number, i);
		assert_int_equal(s->n_calls, launches_of(i) + 1);
		assert_int_equal(s->n_works, launches_of(i) + 1 - n_missing);
		assert_int_equal(s->n_linked, s->n_works);
		assert_int_equal(s->n_streams, 2);
		assert_int_equal(s->without_work, n_missing);
		assert_true(s->all_within);
	}
	assert_int_equal(counts.late, 0);
	assert_int_equal(counts.works_without_call, 0);
	vec_free(&seen.steps);
	jb_free(b);
}

static void test_always_without_boundaries(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(16, 4096);
	jb_info(b, "PROF_SCHEDULE", "always");
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 10, 110, "profrun-host");
	for (uint32_t i = 0; i < 10; i++)
		jb_call(b, 1, JB_LAUNCH, 1000 + i * 100, 50, i + 1, 7);
	jb_sample(b, 10, 1, SAMPLE_RUNNING, 1970, 5); /* after the last call */
	jb_sample(b, 10, 1, SAMPLE_RUNNING, 1870, 5);
	jb_sample(b, 10, 1, SAMPLE_RUNNING, 8000, 5);
	jb_gpu_state(b, 1, GPU_FLUSHED, 8500, 0);
	jb_end(b, 9000);
	struct seen seen = ingest_file(b, false, NULL);
	assert_int_equal(seen.steps.n, 1);
	/* what the CPU does after the last call, such as shutting Python down, is not in it */
	assert_int_equal(seen.steps.at[0].end_ns, 1950);
	assert_int_equal(seen.steps.at[0].n_samples, 1);
	assert_int_equal(seen.steps.at[0].number, 0);
	assert_int_equal(seen.steps.at[0].n_calls, 10);
	assert_true(seen.steps.at[0].is_whole_run);
	vec_free(&seen.steps);
	jb_free(b);
}

/*
 * Random damage anywhere after the header: whatever the result is, nothing crashes and counts stay
 * within reason.
 */
/* The samples of each recorded step: four by thread and time, one of them of a thread that made no
 * call in the step. */
static void check_samples(void *context, struct ingest *f, struct model_step *m)
{
	size_t *n_steps = context;
	(void)f;
	static const struct {
		uint32_t tid, stack;
		uint64_t at;
		uint8_t state;
	} expected[] = {
		{ 100, 5, 1700, SAMPLE_RUNNING },
		{ 100, 5, 2800, SAMPLE_IO },
		{ 101, 0, 2750, SAMPLE_LOCK },
		{ 102, 6, 1800, SAMPLE_SLEEP },
	};
	++*n_steps;
	assert_int_equal(m->samples.n, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct model_sample *s = &m->samples.at[i];
		assert_int_equal(m->threads.at[s->thread].tid, expected[i].tid);
		assert_int_equal(s->ns, m->begin_ns + expected[i].at);
		assert_int_equal(s->stack, expected[i].stack);
		assert_int_equal(s->state, expected[i].state);
	}
}

static void check_cpu_waits(void *context, struct ingest *f, struct model_step *m)
{
	size_t *n_steps = context;
	(void)f;
	assert_int_equal(m->cpu_waits.n, 1);
	assert_int_equal(m->cpu_waits.at[0].ns, 300);
	assert_int_equal(m->threads.at[m->cpu_waits.at[0].thread].tid, 100);
	int64_t begin_ns = (int64_t)(m->cpu_waits.at[0].begin_ns - m->begin_ns);
	assert_int_equal(begin_ns, ++*n_steps == 1 ? STEP_NS - 500 : -500);
	assert_int_equal(m->cpu_waits.at[0].end_ns - m->cpu_waits.at[0].begin_ns, 900);
}

/* A wait that spans the border of two steps belongs to both. */
static void test_a_wait_for_a_cpu_belongs_to_two_steps(void **state)
{
	size_t n_steps = 0;
	struct ingest f;
	const struct ingest_sink sink = { .context = &n_steps, .step = check_cpu_waits };
	struct journal_builder *b = training_run(6);
	uint64_t border = 1000 + 3ull * STEP_NS;
	(void)state;
	jb_cpu_wait(b, 10, 1, border - 500, border + 400, 300);
	jb_cpu_wait(b, 10, 77, border - 500, border + 400, 300); /* no such thread */
	jb_cpu_wait(b, 10, 1, border + 400, border - 500, 300);	 /* ends before it begins */
	jb_end(b, 6ull * STEP_NS);
	ingest_written(&f, b, &sink, false);
	assert_int_equal(n_steps, 2);
	assert_int_equal(f.reader.n_impossible, 1);
	ingest_close(&f);
	jb_free(b);
}

static void test_samples_go_to_their_steps(void **state)
{
	size_t n_steps = 0;
	struct ingest f;
	const struct ingest_sink sink = { .context = &n_steps, .step = check_samples };
	struct journal_builder *b = training_run(6);
	(void)state;
	jb_sample(b, 10, 77, SAMPLE_RUNNING, 2ull * STEP_NS + 3000, 5); /* no such thread */
	jb_sample(b, 10, 1, SAMPLE_STATES, 2ull * STEP_NS + 3000, 5);	/* no such state */
	jb_sample(b, 10, 1, SAMPLE_RUNNING, 1ull << 60, 5);		/* no such time */
	jb_end(b, 6ull * STEP_NS);
	ingest_written(&f, b, &sink, false);
	assert_int_equal(n_steps, 2);
	assert_int_equal(f.reader.n_impossible, 2);
	ingest_close(&f);
	jb_free(b);
}

static void test_survives_random_damage(void **state)
{
	(void)state;
	struct journal_builder *b = training_run(5);
	uint8_t *good = mem_resize(NULL, b->size);
	memcpy(good, b->bytes, b->size);
	srand(7);
	for (int round = 0; round < 300; round++) {
		size_t from = sizeof(struct journal_header),
		       used = b->header->chunks_offset + 16 * 4096;
		for (int i = rand() % 40; i >= 0; i--)
			b->bytes[from + (size_t)rand() % (used - from)] = (uint8_t)rand();
		struct seen seen = ingest_file(b, round % 2, NULL);
		memcpy(b->bytes, good, b->size);
		vec_free(&seen.steps);
	}
	free(good);
	jb_free(b);
}

/*
 * Returns the CPU time, in clock_t, of reading n_steps recorded steps that are all held before the
 * GPU work of the first one is read. The last step's work is missing.
 */
static clock_t late_work_cost(uint32_t n_steps)
{
	enum { GRACE_NS = 1000000000 };
	struct journal_builder *b = jb_new(4, 4 << 20);
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 9, 109, "cupti");
	jb_string(b, 1, "k");
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 5, 0);
	for (uint32_t i = 1; i <= n_steps; i++) {
		jb_step(b, 1, STEP_BEGIN, i * 1000, i, SCHED_RECORD);
		jb_call(b, 1, JB_LAUNCH, i * 1000 + 100, 50, i, 7);
	}
	uint64_t end = (n_steps + 1) * 1000;
	jb_step(b, 1, STEP_BEGIN, end, n_steps + 1, SCHED_NONE);
	jb_alloc(b, 9, JB_MALLOC, end + GRACE_NS, 0x1000, 1); /* the steps before are past */
	for (uint32_t i = 1; i < n_steps; i++) {
		jb_external(b, 9, i, 1, i);
		jb_work(b, 9, REC_KERNEL, 1, i * 1000 + 300, 50, i, 7);
	}
	jb_end(b, end + 2 * (uint64_t)GRACE_NS);
	struct ingest_counts counts;
	clock_t begun = clock();
	struct seen seen = ingest_file(b, true, &counts);
	clock_t cost = clock() - begun;
	assert_int_equal(counts.paired, n_steps - 1);
	assert_int_equal(counts.calls_without_work, 1);
	assert_true(seen.steps.n >= n_steps);
	for (uint32_t i = 0; i < n_steps; i++) {
		assert_int_equal(seen.steps.at[i].number, i + 1);
		assert_int_equal(seen.steps.at[i].n_linked, i + 1 < n_steps);
	}
	vec_free(&seen.steps);
	jb_free(b);
	return cost;
}

/*
 * Many steps are held until their GPU work comes, because the collector is late or the process was
 * killed. Closing them takes time in proportion to their number: sixteen times as many steps took
 * 78 times as long when each was closed alone, and now twice as long.
 */
static void test_late_work_closes_many_steps_at_once(void **state)
{
	(void)state;
	double least = INFINITY;
	for (int i = 0; i < 3 && least > 32; i++)
		least = fmin(least, (double)late_work_cost(16000) / (double)late_work_cost(1000));
	assert_true(least < 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_and_work_go_to_their_steps),
		cmocka_unit_test(test_counts_what_is_missing),
		cmocka_unit_test(test_steps_that_begin_in_a_capture),
		cmocka_unit_test(test_launches_without_gpu_times),
		cmocka_unit_test(test_launches_of_a_killed_process),
		cmocka_unit_test(test_launches_while_another_profiler_had_cupti),
		cmocka_unit_test(test_calls_between_windows_are_no_loss),
		cmocka_unit_test(test_late_work_between_windows_is_no_loss),
		cmocka_unit_test(test_a_step_inherits_work_under_way),
		cmocka_unit_test(test_a_window_inherits_work_of_steps_between),
		cmocka_unit_test(test_a_call_lost_before_a_step_begins),
		cmocka_unit_test(test_a_window_inherits_work_of_steps_before_its_warmup),
		cmocka_unit_test(test_steps_whose_ends_were_dropped_have_no_length),
		cmocka_unit_test(test_a_killed_process_gives_its_open_step),
		cmocka_unit_test(test_boundary_is_one_moment_for_all_threads),
		cmocka_unit_test(test_the_last_step_ends_with_what_it_did),
		cmocka_unit_test(test_many_short_steps),
		cmocka_unit_test(test_late_work_closes_many_steps_at_once),
		cmocka_unit_test(test_always_without_boundaries),
		cmocka_unit_test(test_samples_go_to_their_steps),
		cmocka_unit_test(test_a_wait_for_a_cpu_belongs_to_two_steps),
		cmocka_unit_test(test_survives_random_damage),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
