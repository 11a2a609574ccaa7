/* Causes of idle time that samples of the launching threads show. */
#include "core/analysis/lane_samples.h"
#include "test/unit/idle_made.h"

/* A kernel to 100, then 497 us in which the CPU was sampled, then the copy of a batch. */
static void sampled_pause(struct fixture *f)
{
	sb_launch(&f->b, 0, 0, 100, 1);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 600, 603, 605, 610, 4096, 3);
	sb_launch(&f->b, 604, 610, 1000, 3);
}

/* The copy of a batch alone does not make it data loading: the sampled line does the work. */
static void cause_host(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 11);
	sb_sample(&f->b, 500, 0, SAMPLE_RUNNING, 11);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_HOST), 500, 1e-6);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_int_equal(site_of(f, IDLE_HOST), 9);
	assert_int_equal(f->a.timeline.calls.at[1].before_kind, HOST_PYTHON);
	assert_int_equal(frames_site_at(NULL, f->a.timeline.calls.at[1].before_site)->line, 9);
}

static void cause_input_by_samples(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_POLL, 4);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 500, 1e-6);
	assert_int_equal(site_of(f, IDLE_INPUT), 40);
}

/* Fetching the next item of a loop is data loading only if the copy of a batch follows. */
static void cause_input_by_an_iterator(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 11);
	sb_sample(&f->b, 500, 0, SAMPLE_SLEEP, 13);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_HOST), 250, 1e-6);
	assert_float_equal(idle_us(f, IDLE_INPUT), 250, 1e-6);
	assert_int_equal(site_of(f, IDLE_INPUT), 21);
}

static void no_input_by_an_iterator_alone(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	sb_launch(&f->b, 600, 610, 1000, 3);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 700, 703, 705, 710, 4096, 3);
	sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 13);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_true(idle_us(f, IDLE_HOST) > 490);
}

/* The next batch is fetched after the step's last call: its copy is the next step's first call. */
static void cause_input_by_an_iterator_at_the_end(void **state)
{
	struct fixture *f = *state;
	copy(f, "cudaMemcpyAsync", COPY_H2D, 2, 5, 6, 10, 4096, 3);
	sb_launch(&f->b, 10, 15, 300, 1);
	sb_sample(&f->b, 600, 0, SAMPLE_RUNNING, 13);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 700, 1e-6);
}

/* Each sample stands for the time around it. */
static void causes_of_what_blocks(void **state)
{
	static const struct {
		uint8_t state, cause;
	} blocks[] = {
		{ SAMPLE_SLEEP, IDLE_SLEEP }, { SAMPLE_LOCK, IDLE_LOCK },
		{ SAMPLE_GIL, IDLE_GIL },     { SAMPLE_IO, IDLE_IO },
		{ SAMPLE_POLL, IDLE_IO },     { SAMPLE_CHILD, IDLE_CHILD },
	};
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		struct fixture *f = *state;
		sampled_pause(f);
		sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 11);
		sb_sample(&f->b, 500, 0, blocks[i].state, 12);
		finish(f);
		assert_float_equal(idle_us(f, IDLE_HOST), 250, 1e-6);
		assert_float_equal(idle_us(f, blocks[i].cause), 250, 1e-6);
		assert_int_equal(site_of(f, blocks[i].cause), 15);
		tear_down(state);
		set_up(state);
	}
}

static void cause_gc(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_RUNNING, 11);
	f->b.m.samples.at[0].flags = SAMPLE_COLLECTING;
	finish(f);
	assert_float_equal(idle_us(f, IDLE_GC), 500, 1e-6);
	assert_int_equal(site_of(f, IDLE_GC), 9);
}

/* The main thread waits for its worker, which works without Python frames: its time, at the line
 * that waits. */
static void host_code_of_a_worker(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_call(&f->b, (struct sb_call){ .name = "cudaEventRecord",
					 .category = CAT_LAUNCH,
					 .begin_us = 620,
					 .end_us = 621,
					 .tid = 2 });
	sb_sample(&f->b, 300, 1, SAMPLE_LOCK, 11);
	sb_sample(&f->b, 300.02, 2, SAMPLE_RUNNING, 0);
	sb_sample(&f->b, 400, 2, SAMPLE_LOCK, 0); /* another moment: both wait */
	sb_sample(&f->b, 400.02, 1, SAMPLE_LOCK, 11);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_HOST), 250, 0.1);
	assert_int_equal(site_of(f, IDLE_HOST), 9);
	assert_float_equal(idle_us(f, IDLE_LOCK), 250, 0.1);
	assert_int_equal(site_of(f, IDLE_LOCK), 9);
	assert_int_equal(f->a.timeline.host.n, 2);
}

/* The main thread waits for its worker, which waits for Python's GIL: another thread has that. */
static void a_worker_that_waits_for_the_gil(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_call(&f->b, (struct sb_call){ .name = "cudaEventRecord",
					 .category = CAT_LAUNCH,
					 .begin_us = 620,
					 .end_us = 621,
					 .tid = 2 });
	sb_sample(&f->b, 300, 1, SAMPLE_LOCK, 11);
	sb_sample(&f->b, 300.02, 2, SAMPLE_GIL, 0);
	f->b.m.samples.at[f->b.m.samples.n - 1].holder = 12;
	finish(f);
	assert_float_equal(idle_us(f, IDLE_GIL), 500, 0.1);
	assert_int_equal(site_of(f, IDLE_GIL), 9);
	assert_int_equal(frames_site_at(NULL, f->f.gil_holder)->line, 15);
}

/* A sample counts only while no thread of the lane is in a call. */
static void a_sample_beside_a_call(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_call(&f->b, (struct sb_call){ .name = "cudaMalloc",
					 .category = CAT_ALLOC,
					 .begin_us = 200,
					 .end_us = 400,
					 .tid = 2 });
	sb_sample(&f->b, 300, 1, SAMPLE_LOCK, 11);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_LOCK), 0, 1e-6);
	assert_float_equal(idle_us(f, IDLE_ALLOC), 200, 1e-6);
	assert_int_equal(f->a.timeline.host.n, 0);
}

/* What was sampled between two calls once is assumed there where no sample was taken. A short time
 * between two calls is the way to the next call. */
static void causes_where_no_sample_was_taken(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_SLEEP, 11);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1000, 1000, 1100, 1);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 1600, 1603, 1605, 1610, 4096, 3);
	sb_launch(&f->b, 1604, 1610, 1700, 3);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 1740, 1743, 1745, 2000, 4096, 2);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SLEEP), 1000, 1e-6);
	assert_float_equal(idle_us(f, IDLE_HOST), 0, 1e-6);
}

/* A framework on its way to a launch of its pass has launch overhead. It works on the CPU if
 * something else makes the next call. */
static void a_framework_that_launches(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 14);
	sb_sample(&f->b, 250, 0, SAMPLE_RUNNING, 14);
	sb_launch(&f->b, 400, 400, 500, 14);
	sb_sample(&f->b, 600, 0, SAMPLE_RUNNING, 14);
	sb_launch(&f->b, 700, 700, 1000, 1);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 300, 4);
	assert_float_equal(idle_us(f, IDLE_HOST), 200, 4);
	assert_int_equal(f->a.timeline.calls.at[1].before_kind, HOST_FRAMEWORK);
	assert_int_equal(f->a.timeline.calls.at[2].before_kind, HOST_PYTHON);
}

/* The time after a step's last call comes before the next step's first call. */
static void causes_at_the_end_where_no_sample_was_taken(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	sb_launch(&f->b, 110, 110, 200, 2);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_sample(&f->b, 1100, 0, SAMPLE_LOCK, 11);
	sb_launch(&f->b, 1200, 1200, 1300, 1);
	sb_launch(&f->b, 1310, 1310, 1400, 2);
	end_step(f);
	sb_step(&f->b, 7, 2000, 3000);
	sb_launch(&f->b, 2000, 2000, 2100, 1);
	sb_launch(&f->b, 2110, 2110, 2200, 2);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_LOCK), 200 + 600 + 800, 3);
	assert_int_equal(site_of(f, IDLE_LOCK), 9);
}

/* Where other times were sampled, a long time without a sample is host code, except on the way to a
 * module's or an optimizer's launches. */
static void long_times_without_a_sample(void **state)
{
	struct fixture *f = *state;
	sb_sample(&f->b, 5, 0, SAMPLE_RUNNING, 11);
	for (int i = 0; i < 10; i++)
		sb_launch(&f->b, 10 + i * 10, 10 + i * 10, 20 + i * 10, 1);
	sb_launch(&f->b, 400, 400, 500, 2);
	sb_launch(&f->b, 700, 700, 1000, 8);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_HOST), 290, 12);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 10 + 200, 3);
}

/* A batch's copy makes data loading only where no samples are taken at all. */
static void no_input_by_copy_among_samples(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_RUNNING, 11);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1000, 1000, 1100, 2);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 1600, 1603, 1605, 2000, 4096, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_true(idle_us(f, IDLE_LAUNCH) > 490);
}

/* The rows of the CPU time between calls: their samples share that time. */
static void time_between_calls(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	for (int i = 0; i < 3; i++)
		sb_sample(&f->b, 100 + i * 100, 0, SAMPLE_RUNNING, 11);
	sb_sample(&f->b, 400, 0, SAMPLE_SLEEP, 12);
	sb_sample(&f->b, 601, 0, SAMPLE_RUNNING, 12); /* in a call */
	finish(f);
	/* Before the first sample it is not known what the CPU did. From there on, the calls take 6
	 * us of 900. Until 350 the samples of line 9 are nearer. */
	assert_float_equal(f->f.between_ms, 0.894, 1e-9);
	assert_int_equal(f->f.n_host_samples, 4);
	assert_int_equal(f->f.host.n, 2);
	const struct finding_host *h = f->f.host.at;
	assert_int_equal(h[1].line, 9);
	assert_int_equal(h[1].kind, HOST_PYTHON);
	assert_float_equal(h[1].self_ms, 0.250, 1e-9);
	assert_float_equal(h[1].total_ms, h[1].self_ms, 1e-9);
	assert_int_equal(h[1].samples, 3);
	assert_int_equal(h[0].line, 15);
	assert_int_equal(h[0].kind, HOST_SLEEP);
	assert_float_equal(h[0].self_ms, 0.894 - 0.250, 1e-9);
}

/* Steps are shorter than the time between two samples: a sample also stands for the steps right
 * before that have none. */
static void steps_without_samples(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_RUNNING, 11);
	end_step(f);
	double before_us = 1000;
	for (uint64_t number = 6; number < 10; number++, before_us += 1000) {
		sb_step(&f->b, number, before_us, before_us + 1000);
		sb_launch(&f->b, before_us + 1, before_us + 1, before_us + 100, 2);
		if (number == 8)
			sb_sample(&f->b, before_us + 500, 0, SAMPLE_SLEEP, 12);
		if (number < 9)
			end_step(f);
	}
	finish(f);
	assert_int_equal(f->f.n_host_samples, 2);
	assert_int_equal(f->f.host.n, 2);
	/* the calls of steps 6 to 8 take 3 us each; no sample follows after step 9 */
	assert_int_equal(f->f.host.at[0].kind, HOST_SLEEP);
	assert_float_equal(f->f.host.at[0].self_ms * 5, 3 * 0.997, 0.004);
	assert_float_equal(f->f.between_ms * 5, 3 * 0.997 + f->f.host.at[1].self_ms * 5, 1e-6);
}

/* Without a stack, only the lines of the calls before and after are known. */
static void time_between_two_lines(void **state)
{
	struct fixture *f = *state;
	sampled_pause(f);
	sb_sample(&f->b, 300, 0, SAMPLE_RUNNING, 0);
	sb_sample(&f->b, 800, 0, SAMPLE_RUNNING, 0);
	finish(f);
	assert_int_equal(f->f.host.n, 2);
	const struct finding_host *h = f->f.host.at;
	const struct finding_host *first = &h[h[0].after != frames_site(NULL, 1)];
	const struct finding_host *last = first == h ? h + 1 : h;
	assert_int_equal(first->kind, HOST_NATIVE);
	assert_int_equal(first->line, 0);
	assert_int_equal(first->after, frames_site(NULL, 1));
	assert_int_equal(first->before, frames_site(NULL, 3));
	assert_int_equal(last->after, frames_site(NULL, 3));
	/* the next step is assumed to begin like this one */
	assert_int_equal(last->before, frames_site(NULL, 1));
}

/* A run without steps ends with its last call. */
static void samples_after_the_end_have_no_part(void **state)
{
	struct fixture *f = *state;
	struct lanes lanes = { 0 };
	struct lane_samples samples = { 0 };
	sampled_pause(f);
	sb_sample(&f->b, 200, 0, SAMPLE_RUNNING, 11);
	sb_sample(&f->b, 500, 0, SAMPLE_RUNNING, 11);
	sb_sample(&f->b, 1200, 0, SAMPLE_RUNNING, 4);
	sb_sample(&f->b, 1400, 0, SAMPLE_RUNNING, 4);
	finish(f);
	lanes_find(&lanes, &f->a.timeline);
	lane_samples_find(&samples, &f->a.timeline, &lanes);
	assert_int_equal(samples.n, 2);
	for (size_t i = 0; i < samples.at.n; i++)
		assert_true(samples.at.at[i].weight_ns < 1000000);
	lane_samples_free(&samples);
	lanes_free(&lanes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cause_host),
		TEST(cause_input_by_samples),
		TEST(cause_input_by_an_iterator),
		TEST(no_input_by_an_iterator_alone),
		TEST(cause_input_by_an_iterator_at_the_end),
		TEST(causes_of_what_blocks),
		TEST(cause_gc),
		TEST(host_code_of_a_worker),
		TEST(a_worker_that_waits_for_the_gil),
		TEST(a_sample_beside_a_call),
		TEST(causes_where_no_sample_was_taken),
		TEST(a_framework_that_launches),
		TEST(causes_at_the_end_where_no_sample_was_taken),
		TEST(long_times_without_a_sample),
		TEST(no_input_by_copy_among_samples),
		TEST(time_between_calls),
		TEST(steps_without_samples),
		TEST(time_between_two_lines),
		TEST(samples_after_the_end_have_no_part),
	};
	fake_kind = FRAME_KIND_PYTHON;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
