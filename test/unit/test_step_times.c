/* Steps' lengths: the warm-up separated, percentiles of the rest, bounded memory. */
#include "core/analysis/host_kinds.h"
#include "core/analysis/step_times.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The next call frees the result's lists. */
static struct findings fill(const double *ms, size_t n)
{
	static struct findings f;
	struct baseline b = { 0 };
	struct sample *recorded = mem_zero(sizeof(*recorded));
	findings_free(&f);
	f = (struct findings){ 0 };
	for (size_t i = 0; i < n; i++) {
		baseline_add(&b, i + 1, ms[i], i + 2 >= n);
		if (i + 2 >= n)
			sample_add(recorded, ms[i]);
	}
	step_times_fill(&f, &b, recorded);
	baseline_free(&b);
	free(recorded);
	return f;
}

static void warm_up_is_separated(void **state)
{
	const double ms[] = { 90, 40, 16, 10, 11, 10, 17, 9, 10, 10, 10, 12 };
	(void)state;
	struct findings f = fill(ms, 12);
	assert_int_equal(f.warm_up.n, 3);
	assert_float_equal(f.warm_up.max, 90, 1e-6);
	assert_int_equal(f.baseline.n, 9);
	assert_float_equal(f.baseline.p50, 10, 1e-6);
	assert_float_equal(f.baseline.max, 17, 1e-6);
	assert_float_equal(f.baseline.min, 9, 1e-6);
	assert_float_equal(f.baseline.mean, 11, 1e-6);
	assert_float_equal(f.baseline.std, 2.3979157616563596, 1e-6);
	assert_float_equal(f.baseline.cv, f.baseline.std / 11, 1e-9);
	assert_int_equal(f.recorded.n, 2);
	assert_false(f.recorded_in_warm_up);
	assert_float_equal(f.recorded.mean, 11, 1e-6);
}

static void steady_from_the_start(void **state)
{
	const double ms[] = { 10, 11, 10, 30, 10, 9 };
	(void)state;
	struct findings f = fill(ms, 6);
	assert_int_equal(f.warm_up.n, 0);
	assert_int_equal(f.baseline.n, 6);
}

static void slow_for_half_the_run(void **state)
{
	const double ms[] = { 30, 30, 30, 30, 10, 10, 10, 10 };
	(void)state;
	struct findings f = fill(ms, 8);
	assert_int_equal(f.warm_up.n, 0);
}

/* All recorded steps in the warm-up, and one behind it. */
static void recorded_in_the_warm_up(void **state)
{
	const double ms[] = { 90, 40, 16, 10, 10, 10, 10, 10 };
	(void)state;
	for (size_t last = 2; last < 4; last++) {
		struct timeline t = { 0 };
		struct findings f = { .timeline = &t };
		struct baseline b = { 0 };
		struct sample *recorded = mem_zero(sizeof(*recorded));
		for (size_t i = 0; i < 8; i++)
			baseline_add(&b, i + 5, ms[i], i && i <= last);
		for (size_t i = 6; i < 12; i++)
			vec_push(&t.steps, (struct timeline_step){ .number = i });
		step_times_fill(&f, &b, recorded);
		assert_int_equal(f.warm_up.n, 3);
		assert_int_equal(f.recorded_in_warm_up, last == 2);
		assert_int_equal(f.n_recorded_warm_up, 2);
		vec_free(&t.steps);
		baseline_free(&b);
		free(recorded);
	}
}

static void nothing_and_one(void **state)
{
	const double ms[] = { 7 };
	(void)state;
	struct findings f = fill(ms, 0);
	assert_int_equal(f.baseline.n, 0);
	f = fill(ms, 1);
	assert_int_equal(f.baseline.n, 1);
	assert_float_equal(f.baseline.p99, 7, 1e-6);
	assert_float_equal(f.baseline.std, 0, 1e-6);
}

/* Every tenth step saves a checkpoint: 40 of 400 steps, of 190 ms where the others take 10. */
static void slow_steps_that_are_rare(void **state)
{
	double ms[400];
	(void)state;
	for (size_t i = 0; i < 400; i++)
		ms[i] = i % 10 == 9 ? 190 : 10;
	struct findings f = fill(ms, 400);
	assert_int_equal(f.slow.n, 40);
	assert_int_equal(f.slow.n_of, 400);
	assert_float_equal(f.slow.times, 19, 1e-6);
	assert_float_equal(f.slow.pct, 100 * 7600.0 / 11200, 1e-6);
	assert_float_equal(f.slow.least_ms, 190, 1e-6);
	assert_int_equal(f.slow.n_recorded, 0);
	assert_int_equal(f.pauses.n, 16);
}

/* The slow steps have two lengths, as episodes of a game have: both are slow. Among steps that vary
 * without a gap, only the longest are. */
static void slow_steps_of_two_lengths(void **state)
{
	double ms[400];
	(void)state;
	for (size_t i = 0; i < 400; i++)
		ms[i] = i % 16 == 15 ? (i % 32 == 15 ? 170 : 470) : 4;
	struct findings f = fill(ms, 400);
	assert_int_equal(f.slow.n, 25);
	assert_float_equal(f.slow.least_ms, 170, 1e-6);
	assert_float_equal(f.slow.pct, 100 * 7850.0 / 9350, 1e-6);
	for (size_t i = 0; i < 400; i++) /* 12 of 4.2 to 15 ms: no gap to the others */
		ms[i] = i % 16 == 15 ? (i % 32 == 15 ? 3 + 1.2 * (double)(i / 32) : 470) : 4;
	f = fill(ms, 400);
	assert_int_equal(f.slow.n, 12);
	assert_float_equal(f.slow.least_ms, 470, 1e-6);
}

/* However much the others vary. */
static void slow_steps_among_unsteady_ones(void **state)
{
	double ms[400];
	(void)state;
	for (size_t i = 0; i < 400; i++)
		ms[i] = i % 10 == 9 ? 180 + (double)(i % 7) * 10 : 5 + (double)(i * i % 13) * 3;
	struct findings f = fill(ms, 400);
	assert_int_equal(f.slow.n, 40);
	assert_float_equal(f.slow.least_ms, 180, 1e-6);
}

/*
 * Two that take a tenth of the time may be chance. What every third step does is the rule; twice as
 * long is a tenth more time in all.
 */
static void no_slow_steps(void **state)
{
	double ms[400];
	(void)state;
	for (size_t i = 0; i < 400; i++)
		ms[i] = i == 200 || i == 300 ? 250 : 10;
	assert_int_equal(fill(ms, 400).slow.n, 0);
	for (size_t i = 0; i < 400; i++)
		ms[i] = i % 3 ? 10 : 190;
	assert_int_equal(fill(ms, 400).slow.n, 0);
	for (size_t i = 0; i < 400; i++)
		ms[i] = i % 40 == 39 ? 35 : 10;
	assert_int_equal(fill(ms, 400).slow.n, 0);
}

/* One or two steps of the whole run, by their numbers; the warm-up is no pause. */
static void pauses_are_named(void **state)
{
	double ms[300];
	(void)state;
	for (size_t i = 0; i < 300; i++)
		ms[i] = i < 4 ? 5000 : i == 120 ? 1400 : i == 231 ? 1500 : 10;
	struct findings f = fill(ms, 300);
	assert_int_equal(f.slow.n, 2);
	assert_float_equal(f.slow.pct, 49.7, 0.1);
	assert_float_equal(f.slow.other_most_ms, 10, 1e-6);
	assert_int_equal(f.pauses.n, 2);
	assert_int_equal(f.pauses.at[0].number, 232);
	assert_float_equal(f.pauses.at[0].ms, 1500, 1e-6);
	assert_int_equal(f.pauses.at[1].number, 121);
	for (size_t i = 0; i < 300; i++)
		ms[i] = i == 231 ? 1500 : 10;
	f = fill(ms, 300);
	assert_int_equal(f.slow.n, 1);
	for (size_t i = 0; i < 300; i++)
		ms[i] = i % 3 ? 10 : 11;
	assert_int_equal(fill(ms, 300).pauses.n, 0);
}

/* A loader's thread copies a batch while the launching thread waits. The launching thread's samples
 * count. */
static void a_loaders_thread_is_not_where_steps_pause(void **state)
{
	struct timeline t = { 0 };
	struct findings f = { .timeline = &t };
	struct baseline b = { 0 };
	struct sample *recorded = mem_zero(sizeof(*recorded));
	const uint64_t ms = 1000000;
	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		baseline_add(&b, i, i == 40 ? 900 : 10, false);
	vec_push(&t.threads, (struct timeline_thread){ 0 });
	vec_push(&t.threads, (struct timeline_thread){ 0 });
	vec_push(&t.steps,
		 (struct timeline_step){
			 .number = 40, .end_ns = 900 * ms, .n_calls = 2, .n_samples = 1 });
	vec_push(&t.calls, (struct timeline_call){ .thread = 1,
						   .begin_ns = 850 * ms,
						   .end_ns = 851 * ms,
						   .category = CAT_MEMCPY,
						   .site = 5 });
	vec_push(&t.calls, (struct timeline_call){ .begin_ns = 860 * ms,
						   .end_ns = 861 * ms,
						   .category = CAT_LAUNCH,
						   .site = 6 });
	vec_push(&t.samples, (struct timeline_sample){ .ns = 400 * ms, .site = 7 });
	t.samples.at[0].kind = HOST_SLEEP;
	step_times_fill(&f, &b, recorded);
	assert_int_equal(f.pauses.n, 1);
	assert_int_equal(f.pauses.at[0].site, 7);
	assert_true(f.pauses.at[0].is_sampled);
	assert_int_equal(f.pauses.at[0].cause, IDLE_SLEEP);
	/* it waits for a thread that waits for the GIL */
	findings_free(&f);
	f = (struct findings){ .timeline = &t };
	vec_push(&t.samples, (struct timeline_sample){ .ns = 401 * ms, .thread = 1 });
	t.steps.at[0].n_samples = 2;
	t.samples.at[0].kind = HOST_LOCK;
	t.samples.at[0].state = SAMPLE_LOCK;
	t.samples.at[1].state = SAMPLE_GIL;
	step_times_fill(&f, &b, recorded);
	assert_int_equal(f.pauses.at[0].site, 7);
	assert_int_equal(f.pauses.at[0].cause, IDLE_GIL);
	findings_free(&f);
	vec_free(&t.threads);
	vec_free(&t.steps);
	vec_free(&t.calls);
	vec_free(&t.samples);
	baseline_free(&b);
	free(recorded);
}

/* The line of the longest call of a recorded pause, or of the call after its longest gap. */
static void pauses_have_their_line(void **state)
{
	struct timeline t = { 0 };
	struct findings f = { .timeline = &t };
	struct baseline b = { 0 };
	struct sample *recorded = mem_zero(sizeof(*recorded));
	const uint64_t ms = 1000000;
	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		baseline_add(&b, i, i == 40 ? 900 : i == 41 ? 800 : 10, false);
	vec_push(&t.threads, (struct timeline_thread){ 0 });
	for (uint64_t k = 0; k < 2; k++) {
		uint64_t at = 1000 * k * ms, gap = k ? 700 : 1;
		struct timeline_step step = { .number = 40 + k,
					      .begin_ns = at,
					      .end_ns = at + 900 * ms,
					      .first_call = (uint32_t)t.calls.n,
					      .n_calls = 3 };
		for (uint32_t i = 1; i <= 3; i++) {
			uint64_t begin = at + (i == 2 ? gap : 1) * ms,
				 length = i == 3 && !k ? 800 * ms : ms;
			vec_push(&t.calls, (struct timeline_call){ .begin_ns = begin,
								   .end_ns = begin + length,
								   .site = i });
			at = begin + length;
		}
		vec_push(&t.steps, step);
	}
	step_times_fill(&f, &b, recorded);
	assert_int_equal(f.pauses.n, 2);
	assert_int_equal(f.pauses.at[0].number, 40);
	assert_int_equal(f.pauses.at[0].site, 3);
	assert_false(f.pauses.at[0].is_gap);
	assert_int_equal(f.pauses.at[1].site, 2);
	assert_true(f.pauses.at[1].is_gap);
	findings_free(&f);
	f = (struct findings){ .timeline = &t };
	for (uint64_t i = 0; i < 5; i++)
		vec_push(&t.samples, (struct timeline_sample){ .ns = (1100 + i) * ms,
							       .site = i < 2 ? 7 : 9,
							       .kind = HOST_SLEEP });
	t.steps.at[1].n_samples = 5;
	step_times_fill(&f, &b, recorded);
	assert_int_equal(f.pauses.at[1].site, 9);
	assert_true(f.pauses.at[1].is_sampled && !f.pauses.at[1].is_gap);
	assert_int_equal(f.pauses.at[1].cause, IDLE_SLEEP);
	assert_int_equal(f.slow.n_recorded, 2);
	assert_int_equal(f.slow.n_of_load, 0);
	findings_free(&f);
	f = (struct findings){ .timeline = &t };
	t.calls.at[0].waited_before_ns = (uint32_t)(500 * ms); /* another thread had the CPU */
	step_times_fill(&f, &b, recorded);
	assert_false(f.pauses.at[0].is_of_load); /* the other 400 ms are a pause, too */
	findings_free(&f);
	f = (struct findings){ .timeline = &t };
	t.calls.at[0].waited_before_ns = (uint32_t)(880 * ms);
	step_times_fill(&f, &b, recorded);
	t.calls.at[0].waited_before_ns = 0;
	assert_true(f.pauses.at[0].is_of_load);
	assert_false(f.pauses.at[1].is_of_load);
	assert_int_equal(f.slow.n_of_load, 1);
	assert_false(f.pauses.at[0].is_sampled); /* only another step has samples there */
	findings_free(&f);
	/* after the last call of a step, whether the next step was recorded or not */
	f = (struct findings){ .timeline = &t };
	t.calls.at[2].end_ns = t.calls.at[2].begin_ns + ms;
	t.samples.n = 0;
	vec_push(&t.samples, (struct timeline_sample){ .ns = 500 * ms, .site = 8 });
	t.samples.at[0].kind = HOST_PYTHON;
	t.steps.at[0].n_samples = 1;
	t.steps.at[1].n_samples = 0;
	step_times_fill(&f, &b, recorded);
	assert_int_equal(f.pauses.at[0].site, 8);
	assert_int_equal(f.pauses.at[0].cause, IDLE_HOST);
	findings_free(&f);
	f = (struct findings){ .timeline = &t };
	t.steps.n = 1;
	step_times_fill(&f, &b, recorded);
	assert_int_equal(f.pauses.at[0].site, 8);
	findings_free(&f);
	vec_free(&t.steps);
	vec_free(&t.calls);
	vec_free(&t.samples);
	vec_free(&t.threads);
	baseline_free(&b);
	free(recorded);
}

/* Steps that vary by 25 %: their median is known to 8 % if there are 60. A few steps that are far
 * longer, as on a busy machine, change nothing. */
static void the_median_has_an_error(void **state)
{
	double ms[60];
	(void)state;
	for (size_t i = 0; i < 60; i++) /* quantiles of a normal distribution, by a series */
		ms[i] = 10 +
			2.5 * 4.91 * (pow((i + 0.5) / 60, 0.14) - pow(1 - (i + 0.5) / 60, 0.14));
	double even = fill(ms, 60).median_error_ms;
	assert_float_equal(even, 0.8, 0.1);
	for (size_t i = 0; i < 60; i++)
		ms[i] *= i >= 52 ? 3 : 1;
	assert_float_equal(fill(ms, 60).median_error_ms, even, 1e-6);
	assert_float_equal(fill(ms, 1).median_error_ms, 0, 1e-6);
}

/* Growth all the time, or a warm-up that does not end; not a single change, and not noise. */
static void drift_is_a_change_all_the_time(void **state)
{
	double ms[200];
	(void)state;
	for (size_t i = 0; i < 200; i++)
		ms[i] = 1.2 + 1.4 * (double)i / 200 + 0.2 * (double)(i % 3);
	struct findings f = fill(ms, 200);
	assert_float_equal(f.drift.first_ms, 1.54, 0.1);
	assert_float_equal(f.drift.last_ms, 2.66, 0.1);
	/* other load makes steps of the fourth fifth vary, and their median smaller by less */
	for (size_t i = 0; i < 200; i++)
		ms[i] = i >= 120 && i < 160 ? 2.0 + 0.9 * (double)(i % 7 - 3) : ms[i];
	f = fill(ms, 200);
	assert_float_equal(f.drift.last_ms, 2.66, 0.1);
	for (size_t i = 0; i < 200; i++)
		ms[i] = i >= 120 && i < 160 ? 1.6 : ms[i];
	assert_true(fill(ms, 200).drift.first_ms <= 0);
	for (size_t i = 0; i < 200; i++)
		ms[i] = 10 - 6 * (double)i / 200;
	f = fill(ms, 200);
	assert_true(f.drift.first_ms > 9 && f.drift.last_ms < 5);
	for (size_t i = 0; i < 200; i++)
		ms[i] = i < 70 ? 1 : 2;
	assert_true(fill(ms, 200).drift.first_ms <= 0);
	for (size_t i = 0; i < 200; i++)
		ms[i] = i < 30 ? 9 : 2 + 0.01 * (double)(i % 7);
	assert_true(fill(ms, 200).drift.first_ms <= 0);
	for (size_t i = 0; i < 200; i++)
		ms[i] = 2 + 0.1 * (double)i / 200;
	assert_true(fill(ms, 200).drift.first_ms <= 0);
	for (size_t i = 0; i < 20; i++)
		ms[i] = 1 + (double)i;
	assert_true(fill(ms, 20).drift.first_ms <= 0);
}

/* Steps that grow because their threads wait ever longer for a CPU, and steps that grow although
 * they wait. `recorded`: how many of them, from the first on. 40 steps wait for `wait_ms`, from
 * step `from` on. */
static bool drifts_if_waiting_from(uint64_t from, size_t recorded, double wait_ms_at_end,
				   double grows_ms, double wait_ms)
{
	struct timeline t = { 0 };
	struct findings f = { .timeline = &t };
	struct baseline b = { 0 };
	struct sample *of_recorded = mem_zero(sizeof(*of_recorded));
	vec_push(&t.threads, (struct timeline_thread){ 0 });
	for (uint64_t i = 0; i < 200; i++) {
		double waited_ms = i >= from && i < from + 40 ? wait_ms : 0;
		double ms = 2 + grows_ms * (double)i / 200 + waited_ms;
		waited_ms += wait_ms_at_end * (double)i / 200;
		baseline_add(&b, i, ms, false);
		if (i >= recorded)
			continue;
		vec_push(&t.steps,
			 (struct timeline_step){ .number = i,
						 .begin_ns = i * 10000000,
						 .end_ns = i * 10000000 + (uint64_t)(ms * 1e6),
						 .first_call = (uint32_t)i,
						 .n_calls = 1 });
		vec_push(&t.calls,
			 (struct timeline_call){ .begin_ns = i * 10000000,
						 .end_ns = i * 10000000 + 1000,
						 .category = CAT_LAUNCH,
						 .waited_before_ns = (uint32_t)(waited_ms * 1e6) });
	}
	step_times_fill(&f, &b, of_recorded);
	bool drifts = f.drift.first_ms > 0;
	findings_free(&f);
	vec_free(&t.threads);
	vec_free(&t.steps);
	vec_free(&t.calls);
	baseline_free(&b);
	free(of_recorded);
	return drifts;
}

static bool drifts_if_waiting(size_t recorded, double wait_ms_at_end, double grows_ms,
			      double middle_wait_ms)
{
	return drifts_if_waiting_from(80, recorded, wait_ms_at_end, grows_ms, middle_wait_ms);
}

/* Load may make steps longer in more ways than by waits for a CPU of the main thread. */
static void steps_that_do_not_drift_in_the_replay(void **state)
{
	double lengths_ns[100];
	(void)state;
	for (int grows = 0; grows < 2; grows++) {
		struct findings drifts = { .baseline = { .n = 110 }, .drift = { 2, 4 } };
		for (int i = 0; i < 100; i++)
			lengths_ns[i] = 2e6 + 2e4 * i * grows;
		step_times_without_waits(&drifts, lengths_ns, 50); /* too few of 110 to tell */
		assert_true(drifts.drift.first_ms > 0);
		step_times_without_waits(&drifts, lengths_ns, 100);
		assert_int_equal(drifts.drift.first_ms > 0, grows);
	}
}

/* Savings are stated without waits for a CPU, so such waits are no noise that hides them. */
static void waits_for_a_cpu_do_not_hide_savings(void **state)
{
	double lengths_ns[100];
	struct findings f = { .baseline = { .n = 110 }, .median_error_ms = 9 };
	(void)state;
	for (int i = 0; i < 100; i++)
		lengths_ns[i] = 2e6 + 1e4 * (i % 10);
	step_times_without_waits(&f, lengths_ns,
				 20); /* of a fifth of the run the error is larger */
	assert_in_range((uint64_t)(f.median_error_ms * 1e6), 20000, 40000);
	step_times_without_waits(&f, lengths_ns, 100);
	assert_in_range((uint64_t)(f.median_error_ms * 1e6), 1000, 20000);
}

static void load_is_no_drift(void **state)
{
	(void)state;
	assert_true(drifts_if_waiting(200, 0, 2, 0));
	assert_false(drifts_if_waiting(200, 2, 2, 0));
	assert_true(drifts_if_waiting(200, 0.5, 2, 0));
	assert_true(drifts_if_waiting(200, 20, 24, 0)); /* load makes the growth larger */
	assert_false(drifts_if_waiting(80, 2, 2, 0));
	assert_true(drifts_if_waiting(80, 0.5, 2, 0));
	assert_true(drifts_if_waiting(200, 0, 2, 6)); /* load in the middle hides the growth */
	assert_false(drifts_if_waiting(100, 0, 2, 6));
	assert_true(
		drifts_if_waiting_from(0, 200, 0, 2, 6)); /* load at the begin, so steps shorten */
	/* too few to tell, but these wait for less than the steps drift */
	assert_true(drifts_if_waiting(20, 2, 2, 0));
	assert_false(drifts_if_waiting(20, 400, 2, 0));
}

/* Which of them were recorded, by their numbers. */
static void slow_steps_that_are_recorded(void **state)
{
	struct timeline t = { 0 };
	struct findings f = { .timeline = &t };
	struct baseline b = { 0 };
	struct sample *recorded = mem_zero(sizeof(*recorded));
	(void)state;
	for (size_t i = 0; i < 100; i++)
		baseline_add(&b, i, i % 10 == 9 ? 190 : 10, false);
	for (uint64_t number = 20; number < 80; number++) {
		uint64_t length_ns = number % 10 == 9 ? 189000000 : 10000000;
		vec_push(&t.steps, (struct timeline_step){ .number = number, .end_ns = length_ns });
	}
	step_times_fill(&f, &b, recorded);
	assert_int_equal(f.slow.n_recorded, 6);
	assert_int_equal(f.slow.recorded[0], 29);
	assert_int_equal(f.slow.recorded[3], 59);
	findings_free(&f);
	vec_free(&t.steps);
	baseline_free(&b);
	free(recorded);
}

/* Launches and copies count. Waits, events and calls that were captured do not. */
static void work_of_recorded_steps(void **state)
{
	struct timeline t = { 0 };
	(void)state;
	for (uint32_t step = 0; step < 3; step++) {
		vec_push(&t.steps, (struct timeline_step){ .number = 12 + step });
		for (uint32_t i = 0; i < 20 + step; i++)
			vec_push(&t.calls, (struct timeline_call){
						   .step = step,
						   .category = i == 3 ? CAT_SYNC : CAT_LAUNCH });
		vec_push(&t.calls, (struct timeline_call){ .step = step, .category = CAT_MEMCPY });
		vec_push(&t.calls, (struct timeline_call){ .step = step,
							   .category = CAT_LAUNCH,
							   .is_captured = true });
	}
	assert_float_equal(step_times_work(&t, 10), 2.1, 1e-6);
	assert_float_equal(step_times_work(&t, 0), 0, 1e-6);
	t.steps.n = 0;
	assert_float_equal(step_times_work(&t, 10), 0, 1e-6);
	vec_free(&t.steps);
	vec_free(&t.calls);
}

static void bounded(void **state)
{
	struct findings f = { 0 };
	struct baseline b = { 0 };
	struct sample *recorded = mem_zero(sizeof(*recorded));
	(void)state;
	for (size_t i = 0; i < 5; i++)
		baseline_add(&b, i, 900, false);
	for (size_t i = 0; i < 3 * (size_t)BASELINE_KEPT; i++)
		baseline_add(&b, i, 10 + (double)(i % 11), false);
	step_times_fill(&f, &b, recorded);
	assert_int_equal(b.ms.n, BASELINE_KEPT);
	assert_int_equal(f.warm_up.n, 5);
	assert_int_equal(f.baseline.n, 3 * BASELINE_KEPT);
	assert_float_equal(f.baseline.p50, 15, 0.01);
	assert_float_equal(f.baseline.mean, 15, 0.05);
	baseline_free(&b);
	free(recorded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(warm_up_is_separated),
		cmocka_unit_test(steady_from_the_start),
		cmocka_unit_test(slow_for_half_the_run),
		cmocka_unit_test(recorded_in_the_warm_up),
		cmocka_unit_test(nothing_and_one),
		cmocka_unit_test(bounded),
		cmocka_unit_test(work_of_recorded_steps),
		cmocka_unit_test(slow_steps_that_are_rare),
		cmocka_unit_test(slow_steps_of_two_lengths),
		cmocka_unit_test(slow_steps_among_unsteady_ones),
		cmocka_unit_test(no_slow_steps),
		cmocka_unit_test(pauses_are_named),
		cmocka_unit_test(pauses_have_their_line),
		cmocka_unit_test(a_loaders_thread_is_not_where_steps_pause),
		cmocka_unit_test(the_median_has_an_error),
		cmocka_unit_test(drift_is_a_change_all_the_time),
		cmocka_unit_test(steps_that_do_not_drift_in_the_replay),
		cmocka_unit_test(waits_for_a_cpu_do_not_hide_savings),
		cmocka_unit_test(load_is_no_drift),
		cmocka_unit_test(slow_steps_that_are_recorded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
