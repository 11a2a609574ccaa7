/* Verdict, recoverable times and advice on machines whose times are exact. */
#include "core/analysis/host_kinds.h"
#include "core/analysis/summary.h"
#include "core/symbols/stack_about.h"
#include "core/verdict/judge.h"
#include "test/unit/line_frames.h"
#include "test/unit/twin_programs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct twin *tw;
static struct findings f;
static bool is_torch; /* the stack COPY passes through PyTorch */

static void judge(twin_step step, bool is_fixed, int steps)
{
	tw = mem_zero(sizeof(*tw));
	tw->is_fixed = is_fixed;
	make_frames();
	if (is_torch)
		frames[COPY].file = "/v/site-packages/torch/_tensor.py";
	twin_record(tw, step, steps);
	f = (struct findings){ 0 };
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
}

static void forget(void)
{
	findings_free(&f);
	twin_free(tw);
	free(tw);
}

static double recoverable(uint32_t site)
{
	for (size_t i = 0; i < f.syncs.n; i++)
		if (f.syncs.at[i].site == site)
			return f.syncs.at[i].recoverable_ms;
	return -1;
}

static double truth_ms(twin_step step)
{
	return (twin_measure(step, false) - twin_measure(step, true)) / 1e3;
}

static void assert_near(double value, double truth, double share)
{
	if (fabs(value - truth) > share * fabs(truth))
		fail_msg("%.4f is not near %.4f", value, truth);
}

static bool is_between(uint8_t verdict)
{
	for (size_t i = 0; i < f.between.n; i++)
		if (f.between.at[i] == verdict)
			return true;
	return false;
}

static bool is_evidence(const char *text)
{
	for (size_t i = 0; i < f.evidence.n; i++)
		if (strstr(f.evidence.at[i].text, text))
			return true;
	return false;
}

static void back_to_back(struct twin *made)
{
	for (int i = 0; i < LAYERS * 4; i++)
		twin_launch(made, 1, 1, "tiny", 1);
}

static void verdict_is_the_cause(void **state)
{
	static const struct {
		twin_step step;
		uint8_t verdict;
	} rows[] = {
		{ hidden_both, VERDICT_SYNC },	  { blocking_copy, VERDICT_COPY },
		{ allocating, VERDICT_MEMORY },	  { free_running, VERDICT_GPU },
		{ back_to_back, VERDICT_LAUNCH }, { slow_input, VERDICT_INPUT },
		{ busy_before, VERDICT_HOST },	  { a_little_input, VERDICT_HOST },
		{ launch_bound, VERDICT_HOST }, /* 4 us before launches of 3 us */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		judge(rows[i].step, false, 5);
		if (f.verdict != rows[i].verdict)
			fail_msg("row %zu: verdict %d", i, f.verdict);
		assert_true(f.confidence > 0.3 && f.confidence <= 1);
		assert_int_equal(f.between.n, 0);
		assert_int_equal(f.savings.n, 8);
		assert_int_equal(f.savings.at[0].resource, f.verdict);
		assert_true(f.evidence.n >= 2);
		assert_true(fabs(f.error_pct) < 1);
		forget();
	}
}

/* All work is in the legacy stream, as with PyTorch, and a copy in each step returns long after its
 * work has begun. The device is mostly idle, because launches come late. */
static void late_in_legacy_stream(struct twin *made)
{
	made->late = 80;
	twin_copy(made, TWIN_LEGACY, COPY_D2D, 1 << 20, 2, false, COPY);
	for (int i = 0; i < LAYERS * 4; i++) {
		twin_host(made, 27);
		twin_launch(made, TWIN_LEGACY, 10, "layer", 1);
	}
}

static void a_late_return_is_no_delay_of_the_device(void **state)
{
	(void)state;
	judge(late_in_legacy_stream, false, 5);
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_near(f.savings.at[0].ms, LAYERS * 4 * 0.027 / 2, 0.2);
	forget();
}

/* Resources that save about equally much: either may be the first one in other steps. */
static void savings_that_are_close_are_unclear(void **state)
{
	static const struct {
		twin_step step;
		uint8_t between[2];
	} rows[] = {
		{ device_bound, { VERDICT_GPU, VERDICT_SYNC } },
		{ host_bound, { VERDICT_HOST, VERDICT_SYNC } },
		{ two_causes, { VERDICT_INPUT, VERDICT_SYNC } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		judge(rows[i].step, false, 5);
		if (f.verdict != VERDICT_UNCLEAR)
			fail_msg("row %zu: verdict %d", i, f.verdict);
		assert_int_equal(f.between.n, 2);
		assert_int_equal(f.between.at[0], rows[i].between[0]);
		assert_int_equal(f.between.at[1], rows[i].between[1]);
		assert_true(f.confidence > 0 && f.confidence <= 0.5);
		assert_true(f.savings.at[1].high_ms >= f.savings.at[0].low_ms);
		assert_non_null(strstr(f.evidence.at[0].text, "more steps would not settle it"));
		forget();
	}
}

/* As two_causes(), but the batch takes very different times. */
static void uneven_causes(struct twin *made)
{
	static const double batch_us[] = { 40, 560, 120, 480, 60, 540, 300 };
	enum { N = sizeof(batch_us) / sizeof(*batch_us) };
	twin_host(made, 10 + batch_us[made->steps_made++ % N]);
	twin_copy(made, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(made, 50);
		twin_launch(made, 1, 50, "layer", 1 + (uint32_t)i);
		twin_wait_stream(made, 1, WAIT);
	}
}

/* Every second step waits long for its batch. */
static void batches_late_by_turns(struct twin *made)
{
	twin_host(made, made->steps_made++ % 2 ? 6000 : 400);
	twin_copy(made, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS * 6; i++) {
		twin_host(made, 50);
		twin_launch(made, 1, 5, "layer", 1 + (uint32_t)i % LAYERS);
	}
}

/* Steps differ because of the program, not because of other load: that says nothing against the
 * savings of the other resources. */
static void waits_that_come_and_go_are_no_noise(void **state)
{
	(void)state;
	judge(batches_late_by_turns, false, 40);
	assert_int_equal(f.verdict, VERDICT_INPUT);
	assert_true(f.confidence > 0.9);
	forget();
}

/* Seven steps that differ say little of the mean of many. */
static void few_steps_do_not_rule_out_more(void **state)
{
	(void)state;
	judge(uneven_causes, false, 7);
	assert_int_equal(f.verdict, VERDICT_UNCLEAR);
	assert_false(is_evidence("more steps would not settle it"));
	assert_true(is_evidence("7 typical steps were recorded: more may settle it"));
	forget();
}

/* The device is busy for 87 % of the step. It idles after the wait, but a faster one saves more. */
static void mostly_busy(struct twin *made)
{
	twin_launch(made, 1, 800, "layer", 1);
	if (!made->is_fixed)
		twin_wait_stream(made, 1, WAIT);
	twin_host(made, 120);
	twin_launch(made, 1, 40, "layer", 2);
}

static void a_stall_does_not_bind_a_busy_device(void **state)
{
	(void)state;
	judge(mostly_busy, false, 5);
	assert_near(f.gpus.at[0].busy_pct, 87, 0.02);
	assert_int_equal(f.verdict, VERDICT_GPU);
	assert_true(f.confidence > 0.9);
	assert_near(f.savings.at[0].ms, 0.42, 0.02);
	assert_int_equal(f.savings.at[1].resource, VERDICT_SYNC);
	assert_near(f.savings.at[1].ms, truth_ms(mostly_busy), 0.05);
	assert_int_equal(f.advice.n, 1);
	assert_int_equal(f.advice.at[0].site, WAIT);
	assert_int_equal(f.advice.at[0].cause, VERDICT_SYNC);
	forget();
}

/* In every second step the batch is late, by far more than the host takes. */
static void late_batches(struct twin *made)
{
	twin_host(made, made->steps_made++ % 2 ? 1400 : 20);
	twin_copy(made, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(made, 120);
		twin_launch(made, 1, 10, "layer", 1 + (uint32_t)i);
	}
}

static void more_steps_settle_what_varies(void **state)
{
	(void)state;
	judge(late_batches, false, 8);
	assert_int_equal(f.verdict, VERDICT_UNCLEAR);
	assert_true(is_between(VERDICT_INPUT) && is_between(VERDICT_HOST));
	assert_non_null(strstr(f.evidence.at[0].text, "to settle it, record at least"));
	forget();
}

/* Two workers deliver their batches at about the same time, so every second batch is there already.
 * Every 16th step begins an epoch, with new workers. */
static void batches_in_pairs(struct twin *made)
{
	int step = made->steps_made++;
	twin_host(made, step % 16 == 15 ? 40000 : step % 2 ? 1400 : 20);
	twin_copy(made, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS; i++)
		twin_launch(made, 1, 10, "layer", 1 + (uint32_t)i);
}

/* Steps that are part of the program's rhythm differ by more than other load explains, and hide
 * neither the cause nor the steps that are longer still. */
static void uneven_steps_have_a_cause_and_outliers(void **state)
{
	(void)state;
	judge(batches_in_pairs, false, 48);
	assert_int_equal(f.verdict, VERDICT_INPUT);
	assert_true(f.confidence > 0.7);
	assert_int_equal(f.n_played - f.n_typical, 3);
	assert_true(f.recorded_ms < 1);
	assert_true(f.savings.at[0].ms > 0.5 && f.savings.at[0].ms < f.recorded_ms);
	assert_true(is_evidence("3 of 48 recorded steps took more than "));
	forget();
}

enum { BURSTS = 40 }; /* recorded steps */

/* A producer that runs between two batches fills a queue of four. The first recorded step is long
 * for a reason of its own. */
static void batches_in_bursts(struct twin *made)
{
	uint64_t step = made->steps_made++;
	if ((step % 4 == 3 || (step == BURSTS && made->is_recording)) && !made->is_fixed)
		twin_host(made, 8000);
	twin_copy(made, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS; i++)
		twin_launch(made, 1, 10, "layer", 1 + (uint32_t)i);
}

/* The steps with the largest savings are those of the program's rhythm, so none is left out. */
static void bursts_save_what_they_take(void **state)
{
	(void)state;
	judge(batches_in_bursts, false, BURSTS);
	assert_int_equal(f.verdict, VERDICT_INPUT);
	assert_int_equal(f.n_typical, f.n_played);
	assert_near(f.savings.at[0].ms, truth_ms(batches_in_bursts), 0.12);
	assert_true(f.savings.at[0].low_ms <= f.savings.at[0].ms &&
		    f.savings.at[0].ms <= f.savings.at[0].high_ms);
	forget();
}

static int host_us; /* what the CPU does in the long steps below */

/* The device limits most steps; one step in six, not in a rhythm, has long work of the CPU. */
static void long_now_and_then(struct twin *made)
{
	int step = made->steps_made++;
	if (step % 11 == 3 || step % 13 == 5)
		twin_host(made, host_us);
	for (int i = 0; i < LAYERS; i++)
		twin_launch(made, 1, 60, "layer", 1 + (uint32_t)i);
	twin_wait_stream(made, 1, WAIT);
}

/* If the other steps take most of the time for another reason, the verdict is that of all steps. If
 * they take about half, it could be either. */
static void a_small_part_of_the_time_is_no_limit(void **state)
{
	(void)state;
	host_us = 1000;
	judge(long_now_and_then, false, 60);
	assert_int_equal(f.verdict, VERDICT_GPU);
	assert_true(f.n_typical < f.n_played && f.left_out_share < 0.5);
	assert_true(f.confidence > 0.9);
	forget();
	host_us = 2700;
	judge(long_now_and_then, false, 60);
	assert_int_equal(f.verdict, VERDICT_UNCLEAR);
	assert_true(f.left_out_share > 0.5 && f.left_out_share < 0.66);
	assert_true(is_between(VERDICT_GPU) && f.between.n == 2);
	assert_true(is_evidence("the other steps take "));
	forget();
	host_us = 20000;
	judge(long_now_and_then, false, 60);
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_true(f.is_of_all && f.left_out_share > 0.8);
	assert_int_equal(f.typical_verdict, VERDICT_GPU);
	assert_true(f.confidence > 0.9);
	assert_true(is_evidence("the verdict refers to all recorded steps"));
	forget();
}

/* One step in six, not in a rhythm, waits for a lock that another thread has. In the other steps,
 * launches and other work of the CPU take about the same. */
static void locked_now_and_then(struct twin *made)
{
	int step = made->steps_made++;
	if (step % 11 == 3 || step % 13 == 5)
		twin_host(made, 9000);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(made, step % 2 ? 2 : 7);
		twin_launch(made, 1, 1, "layer", 1 + (uint32_t)i);
	}
}

/* What limits typical steps may be open although one of the candidates takes most of all time. */
static void all_steps_settle_what_typical_ones_do_not(void **state)
{
	(void)state;
	judge(locked_now_and_then, false, 60);
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_true(f.is_of_all && f.left_out_share > 0.8);
	assert_int_equal(f.typical_verdict, VERDICT_HOST);
	assert_true(f.confidence > 0.9);
	assert_near(f.savings.at[0].ms, f.mean_ms / 2, 0.1);
	forget();
}

/* The CPU runs ahead of the GPU, but for long pauses, in which the GPU finishes its work. */
static void paused(struct twin *made)
{
	if (made->steps_made++ % 25 == 15)
		twin_host(made, 12000);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(made, 48);
		twin_launch(made, 1, 60, "layer", 1 + (uint32_t)i);
	}
}

/* A faster GPU would be idle during the pauses, whatever typical steps would save. */
static void savings_that_a_pause_takes_back_are_no_limit(void **state)
{
	(void)state;
	judge(paused, false, 100);
	assert_true(f.left_out_share < 0.6);
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_true(f.is_of_all);
	assert_int_equal(f.typical_verdict, VERDICT_GPU);
	forget();
}

/* The CPU launches far faster than the GPU works, and waits for it in each tenth step. */
static void waits_now_and_then(struct twin *made)
{
	for (int i = 0; i < LAYERS; i++)
		twin_launch(made, 1, 60, "layer", 1 + (uint32_t)i);
	if (made->steps_made++ % 10 == 9)
		twin_wait_stream(made, 1, WAIT);
}

static void steps_that_wait_for_earlier_ones(void **state)
{
	(void)state;
	judge(waits_now_and_then, false, 60);
	assert_int_equal(f.catch_up.n, 6);
	assert_int_equal(f.catch_up.n_of, 60);
	assert_int_equal(f.verdict, VERDICT_GPU);
	for (size_t i = 0; i < f.gpus.n; i++)
		assert_true(f.n_typical == f.n_played ||
			    f.gpus.at[i].typical_busy_ms > 0.9 * LAYERS * 0.06);
	forget();
	host_us = 20000;
	judge(long_now_and_then, false, 60); /* waits for its own work */
	assert_int_equal(f.catch_up.n, 0);
	forget();
}

/* Code before launches that is twice as fast saves nearly twice as much as batches that are there.
 * All CPU times of a step are `factor` times as long, as on a machine with other load. */
static void one_cause_and_half(struct twin *made, double factor)
{
	twin_host(made, 200 * factor);
	twin_copy(made, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(made, 120 * factor);
		twin_launch(made, 1, 10, "layer", 1 + (uint32_t)i);
	}
}

static void on_a_quiet_machine(struct twin *made)
{
	one_cause_and_half(made, 1);
}

static void on_a_busy_machine(struct twin *made)
{
	one_cause_and_half(made, made->steps_made++ % 2 ? 0.75 : 1.25);
}

/* Where steps vary, another run of the same program may give another cause. */
static void other_load_makes_the_verdict_unclear(void **state)
{
	(void)state;
	judge(on_a_quiet_machine, false, 16);
	assert_int_equal(f.verdict, VERDICT_HOST);
	double ratio = f.savings.at[1].ms / f.savings.at[0].ms;
	assert_int_equal(f.savings.at[1].resource, VERDICT_INPUT);
	forget();
	judge(on_a_busy_machine, false, 16);
	assert_near(f.savings.at[1].ms / f.savings.at[0].ms, ratio, 0.1);
	assert_int_equal(f.verdict, VERDICT_UNCLEAR);
	assert_int_equal(f.between.n, 2);
	assert_true(is_between(VERDICT_HOST) && is_between(VERDICT_INPUT));
	assert_true(is_evidence("run again while nothing else loads the machine"));
	forget();
}

/* Work for the GPU, the CPU is hardly ahead; in every second step other programs have the CPU. */
static void gpu_bound_and_preempted(struct twin *made)
{
	bool is_preempted = !made->is_fixed && made->steps_made++ % 2;
	for (int i = 0; i < LAYERS; i++) {
		twin_host(made, 10);
		if (is_preempted && i == LAYERS / 2)
			twin_preempted(made, 3000);
		twin_launch(made, 1, 40, "gemm", 1 + (uint32_t)i);
	}
	twin_wait_device(made, WAIT);
}

/* The wait returns late in every second step, because other programs have the CPU. */
static void waiting_and_preempted(struct twin *made)
{
	bool is_preempted = !made->is_fixed && made->steps_made++ % 2;
	hidden_both(made);
	twin_host(made, 10);
	if (is_preempted)
		twin_preempted(made, 2000);
	twin_launch(made, 1, 10, "first", NEXT);
}

/* Most waits return late. */
static void mostly_late(struct twin *made)
{
	twin_host(made, 300);
	twin_launch(made, 1, 400, "long", 1);
	twin_record_event(made, 1, 3, 2);
	if (made->steps_made++ % 4)
		twin_preempted_in_wait(made, 1, 2000);
	twin_wait_event(made, 3, WAIT);
}

/* A batch comes late, the CPU works, and other programs have the CPUs for a third of the time. */
static void batches_under_load(struct twin *made)
{
	slow_loader(made);
	twin_host(made, 1200);
	twin_launch(made, 1, 10, "last", 9);
	twin_host(made, 10);
	if (made->steps_made++ % 2)
		twin_preempted(made, 3000);
	twin_launch(made, 1, 10, "first", NEXT);
}

/* If batches come from a loader's workers, these have had fewer CPUs, too. */
static void a_wait_for_workers_under_load_is_less_sure(void **state)
{
	static const char *const functions[] = { "_SingleProcessDataLoaderIter._next_data",
						 "_MultiProcessingDataLoaderIter._next_data" };
	struct host_sum sum = { .stack = LOADER, .kind = HOST_LOADER, .n = 1, .ns = 1000000 };
	(void)state;
	for (int i = 0; i < 2; i++) {
		judge(batches_under_load, false, 16);
		findings_free(&f);
		f = (struct findings){ 0 };
		frames[LOADER].function = functions[i];
		vec_push(&tw->a.timeline.host.at, sum);
		summary_fill(&f, &tw->a.timeline);
		replay_fill(&f);
		assert_true(f.contention_ms / f.measured_ms > 0.25);
		assert_int_equal(f.verdict, i ? VERDICT_UNCLEAR : VERDICT_INPUT);
		assert_int_equal(is_evidence("takes CPUs from the loader's processes"), i);
		forget();
	}
}

/* Time for which a thread waited for a CPU is no cause: verdict and savings are those without
 * it. */
static void contention_is_no_cause(void **state)
{
	static const struct {
		twin_step step;
		uint8_t verdict;
		double waited_ms;
	} rows[] = {
		{ gpu_bound_and_preempted, VERDICT_GPU, 1.5 },
		{ waiting_and_preempted, VERDICT_SYNC, 1 },
		{ mostly_late, VERDICT_SYNC, 1.5 },
	};
	bool has_more = false;
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		judge(rows[i].step, false, 16);
		assert_int_equal(f.verdict, rows[i].verdict);
		assert_near(f.contention_ms, rows[i].waited_ms, 0.15);
		assert_near(f.savings.at[0].ms + 10, 10, 0.1); /* less than a ms */
		assert_true(is_evidence("CPU contention"));
		assert_near(f.measured_ms, f.replayed_ms, 0.01);
		assert_near(f.step_ms, f.measured_ms - f.contention_ms, 0.1);
		/* beyond half of the time, the confidence is the smaller, the longer the waits */
		double left = 1 - f.contention_ms / f.measured_ms;
		assert_true(f.confidence <= 2 * left + 1e-9);
		assert_true(left < 0.5 || f.confidence > 0.9);
		has_more |= left < 0.5;
		forget();
	}
	assert_true(has_more);
}

/*
 * A faster host would save little of a device that is always busy: the verdict does not mention it.
 */
static void half_busy(struct twin *made)
{
	twin_host(made, 300);
	twin_launch(made, 1, 60, "layer", 1);
	twin_wait_stream(made, 1, WAIT);
}

static void a_busy_device_binds(void **state)
{
	(void)state;
	judge(half_busy, false, 5);
	assert_int_equal(f.verdict, VERDICT_HOST);
	findings_free(&f);
	f = (struct findings){ 0 };
	summary_fill(&f, &tw->a.timeline);
	f.gpus.at[0].idle_ms = 0;
	replay_fill(&f);
	assert_int_equal(f.verdict, VERDICT_GPU);
	forget();
}

static bool advises(const char *what)
{
	for (size_t i = 0; i < f.advice.n; i++)
		if (strstr(f.advice.at[i].what, what))
			return true;
	return false;
}

/* A wait that is most of a step of 0.06 ms: what binds is named, however short. */
static void short_steps_have_their_cause(void **state)
{
	(void)state;
	judge(short_wait, false, 5);
	assert_int_equal(f.verdict, VERDICT_SYNC);
	for (size_t i = 0; i < f.evidence.n; i++)
		assert_null(strstr(f.evidence.at[i].text, "almost nothing"));
	assert_int_equal(f.advice.n, 1);
	assert_int_equal(f.advice.at[0].site, WAIT);
	assert_non_null(strstr(f.advice.at[0].why, ": once per step, blocked"));
	forget();
}

/* Had it been kept, it would not have to be asked for. */
static void giving_memory_back_is_the_cause(void **state)
{
	(void)state;
	judge(giving_back, false, 5);
	assert_int_equal(f.verdict, VERDICT_MEMORY);
	assert_true(f.advice.n >= 1);
	assert_non_null(strstr(f.advice.at[0].what, "reuse the memory"));
	assert_int_equal(f.advice.at[0].site, FREE);
	forget();
}

/* The host's time goes between the calls of one line, or before the first of them. */
static void host_work_is_where_it_is(void **state)
{
	(void)state;
	judge(launch_bound, false, 5);
	assert_true(advises("in the loop around this line"));
	assert_false(advises("before this line"));
	forget();
	judge(busy_before, false, 5);
	assert_true(advises("before this line"));
	assert_false(advises("around this line"));
	forget();
}

/* Judges steps in which samples show the same before all calls. */
static void judge_sampled(twin_step step, uint8_t kind, uint32_t site)
{
	tw = mem_zero(sizeof(*tw));
	make_frames();
	twin_record(tw, step, 16);
	for (size_t i = 0; i < tw->a.timeline.calls.n; i++) {
		tw->a.timeline.calls.at[i].before_kind = kind;
		tw->a.timeline.calls.at[i].before_site = site;
	}
	f = (struct findings){ 0 };
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
}

/* A framework on its way to a launch is launch overhead. Other work at the same place is the
 * program's own. If the CPU is stalled, the advice says by what. */
static void samples_tell_what_the_cpu_did(void **state)
{
	(void)state;
	judge_sampled(on_a_quiet_machine, HOST_PYTHON, 3);
	assert_int_equal(f.verdict, VERDICT_HOST);
	double half_ms = f.savings.at[0].ms;
	assert_true(advises("move this CPU work to another thread"));
	forget();
	judge_sampled(on_a_quiet_machine, HOST_FRAMEWORK, 3);
	assert_int_equal(f.verdict, VERDICT_LAUNCH);
	assert_false(advises("move this CPU work"));
	forget();
	judge_sampled(on_a_quiet_machine, HOST_LOCK, 3);
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_true(f.savings.at[0].ms > 1.8 * half_ms);
	assert_true(is_evidence("without stalls between calls"));
	assert_true(advises("hold the lock for less time"));
	forget();
	judge_sampled(on_a_quiet_machine, HOST_SLEEP, 3);
	assert_true(advises("remove the sleep"));
	forget();
	judge_sampled(slow_input, HOST_LOADER, 3);
	assert_int_equal(f.verdict, VERDICT_INPUT);
	assert_true(f.confidence > 0.9);
	forget();
}

/* Judges steps in which samples show line 3 before the first call. */
static void judge_first_gap(twin_step step, uint8_t kind)
{
	tw = mem_zero(sizeof(*tw));
	make_frames();
	twin_record(tw, step, 16);
	for (size_t i = 0; i < tw->a.timeline.steps.n; i++) {
		struct timeline_call *c =
			&tw->a.timeline.calls.at[tw->a.timeline.steps.at[i].first_call];
		c->before_kind = kind;
		c->before_site = 3;
	}
	f = (struct findings){ 0 };
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
}

/* All calls of a step are on one line, so the work before the first call lies between two calls of
 * that line. */
static void works_then_launches(struct twin *made)
{
	twin_host(made, made->is_fixed ? 10 : 4000);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(made, 10);
		twin_launch(made, 1, 10, "layer", 1);
	}
}

/* The line that does the work is named, also if all calls are on another one. */
static void work_between_the_calls_of_a_line_is_at_its_own_line(void **state)
{
	(void)state;
	judge_first_gap(works_then_launches, HOST_PYTHON);
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_int_equal(f.advice.at[0].site, 3);
	assert_true(advises("move this CPU work to another thread"));
	assert_near(f.advice.at[0].expected_ms, truth_ms(works_then_launches), 0.1);
	forget();
	judge_first_gap(works_then_launches, HOST_SLEEP);
	assert_int_equal(f.advice.at[0].site, 3);
	assert_true(advises("remove the sleep"));
	forget();
}

enum { EXCHANGES = 5 }; /* a line that exchanges gradients with other ranks */

static void exchanges(struct twin *made)
{
	twin_launch(made, 1, 10, "copy", EXCHANGES);
	twin_host(made, made->is_fixed ? 10 : 3000);
	twin_launch(made, 1, 10, "copy", EXCHANGES);
	for (int i = 0; i < LAYERS; i++)
		twin_launch(made, 1, 10, "layer", 1);
}

/* Samples show that the CPU waits between two calls of an exchange. It waits for another rank,
 * which is not also the program's own stall. */
static void a_wait_for_another_rank_is_no_stall(void **state)
{
	(void)state;
	tw = mem_zero(sizeof(*tw));
	make_frames();
	twin_record(tw, exchanges, 16);
	for (size_t i = 0; i < tw->a.timeline.calls.n; i++) {
		struct timeline_call *c = &tw->a.timeline.calls.at[i];
		if (c->site != EXCHANGES)
			continue;
		c->about |= ABOUT_COLLECTIVE;
		c->before_kind = HOST_LOCK;
		c->before_site = EXCHANGES;
	}
	f = (struct findings){ 0 };
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
	assert_int_equal(f.verdict, VERDICT_COLLECTIVE);
	assert_true(f.confidence > 0.9);
	assert_near(f.savings.at[0].ms, truth_ms(exchanges), 0.1);
	assert_false(advises("hold the lock"));
	forget();
}

enum { TRAINS = 40, TESTS, FETCHES, CALLS_TRAIN, CALLS_TEST }; /* stacks */

/* The CPU's time is between the last call of one function and the first of another one. */
static void trains_and_tests(struct twin *made)
{
	twin_launch(made, 1, 10, "layer", TRAINS);
	twin_host(made, 1400);
	twin_launch(made, 1, 10, "layer", TESTS);
}

static void tests_and_trains(struct twin *made)
{
	twin_launch(made, 1, 10, "layer", TESTS);
	twin_host(made, 1400);
	twin_launch(made, 1, 10, "layer", TRAINS);
}

/* Judges `step` with samples that show data loading with the stack FETCHES. */
static void judge_fetching(twin_step step)
{
	const struct host_sum waits = { .kind = HOST_LOADER, .stack = FETCHES, .ns = 1000 };
	twin_record(tw, step, 8);
	for (size_t i = 0; i < tw->a.timeline.calls.n; i++)
		tw->a.timeline.calls.at[i].before_kind = HOST_LOADER;
	f = (struct findings){ 0 };
	summary_fill(&f, &tw->a.timeline);
	vec_push(&tw->a.timeline.host.at, waits);
	replay_fill(&f);
}

/* The call after the wait is of another function, which says nothing of the line that waits. */
static void the_line_that_waits_is_of_the_innermost_loop(void **state)
{
	(void)state;
	callers[TRAINS] = callers[FETCHES] = CALLS_TRAIN;
	callers[TESTS] = CALLS_TEST;
	tw = mem_zero(sizeof(*tw));
	make_frames();
	frames[TRAINS].function = frames[FETCHES].function = "train";
	frames[TESTS].function = "test";
	judge_fetching(trains_and_tests);
	assert_true(advises("prefetch"));
	assert_string_equal(f.input_source, "");
	assert_int_equal(f.advice.at[0].site, FETCHES);
	memset(callers, 0, sizeof(callers));
	forget();
}

/*
 * A `for` over a generator of the user's: the `for` itself makes calls that give memory back, and
 * the generator waits for the next batch. Both are at the line of the `for`.
 */
static void a_line_that_waits_may_make_calls(void **state)
{
	enum { FOR = TESTS };
	(void)state;
	callers[FETCHES] = FOR;
	tw = mem_zero(sizeof(*tw));
	make_frames();
	frames[TRAINS].function = frames[FOR].function = "train";
	frames[FETCHES].function = "batches";
	judge_fetching(tests_and_trains);
	assert_true(advises("prefetch"));
	assert_int_equal(f.advice.at[0].site, FOR);
	memset(callers, 0, sizeof(callers));
	forget();
}

/* Items of a queue are batches or requests: nothing tells which. */
static void a_wait_for_a_queue_says_so(void **state)
{
	(void)state;
	tw = mem_zero(sizeof(*tw));
	make_frames();
	frames[FETCHES].file = "/usr/lib/python3.11/queue.py";
	judge_fetching(trains_and_tests);
	assert_int_equal(f.verdict, VERDICT_INPUT);
	assert_string_equal(f.input_source, "queue");
	assert_true(advises("fill the queue faster"));
	forget();
}

/* A loader with worker processes that are started for each epoch. */
static void workers_that_start_are_named(void **state)
{
	(void)state;
	tw = mem_zero(sizeof(*tw));
	make_frames();
	frames[FETCHES].file = "/v/site-packages/torch/utils/data/dataloader.py";
	frames[FETCHES].function = "_MultiProcessingDataLoaderIter.__init__";
	judge_fetching(trains_and_tests);
	assert_true(advises("keep the DataLoader's workers"));
	forget();
}

/* A C++ program computes on the CPU, then copies what it has computed. */
static void computes_and_copies(struct twin *made)
{
	twin_host(made, made->is_fixed ? 10 : 500);
	twin_copy(made, 1, COPY_H2D, 1 << 20, 40, false, COPY);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(made, 10);
		twin_launch(made, 1, 30, "layer", 1 + (uint32_t)i);
	}
	twin_wait_device(made, WAIT);
}

/* Only a loader on the stack shows that data is loaded. The copy of a batch does not. */
static void no_input_without_a_loader(void **state)
{
	(void)state;
	judge(computes_and_copies, false, 5);
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_false(advises("prefetch"));
	assert_true(advises("move the CPU work before this line"));
	forget();
	judge(slow_input, false, 5);
	assert_int_equal(f.verdict, VERDICT_INPUT);
	assert_true(f.confidence > 0.9);
	forget();
}

/*
 * Input and the host's own code take about as long, so both are named, and launches, too.
 */
static void causes_besides_input(void **state)
{
	(void)state;
	judge(some_input, false, 5);
	assert_int_equal(f.verdict, VERDICT_UNCLEAR);
	assert_true(is_between(VERDICT_INPUT) && is_between(VERDICT_HOST));
	assert_true(advises("prefetch batches"));
	assert_true(advises("fewer, larger kernels"));
	forget();
	judge(slow_input, false, 5);
	assert_int_equal(f.verdict, VERDICT_INPUT);
	assert_false(advises("fewer, larger kernels"));
	forget();
}

/* It waits longer than the loop does, and that is no wait of the line behind it. */
static void a_loaders_thread_is_no_line_that_waits(void **state)
{
	(void)state;
	judge(pinning_thread, false, 5);
	for (size_t i = 0; i < f.advice.n; i++)
		if (strstr(f.advice.at[i].what, "prefetch batches")) {
			assert_int_equal(f.advice.at[i].site, BATCH);
			assert_non_null(strstr(f.advice.at[i].why, "; 0.500 ms per step at this "
								   "line"));
		}
	assert_true(advises("prefetch batches"));
	forget();
}

/* Where lines were not seen to wait, what the loader waits for is of the line that comes next. */
static void what_a_loader_without_a_line_waits_for(void **state)
{
	(void)state;
	judge(lineless_loader, false, 5);
	assert_true(advises("prefetch batches"));
	for (size_t i = 0; i < f.advice.n; i++)
		if (strstr(f.advice.at[i].what, "prefetch batches")) {
			assert_int_equal(f.advice.at[i].site, 1);
			assert_non_null(strstr(f.advice.at[i].why, "; 0.700 ms per step at this "
								   "line"));
		}
	forget();
}

/* Fused code has neither the host's work between the launches nor the launches. */
static void work_in_a_loop_also_saves_its_launches(void **state)
{
	bool is_said = false;
	(void)state;
	judge(chatty_line, false, 5);
	for (size_t i = 0; i < f.advice.n; i++) {
		const struct finding_advice *a = &f.advice.at[i];
		if (!strstr(a->what, "in the loop around this line"))
			continue;
		assert_near(a->expected_ms, truth_ms(chatty_line), 0.1);
		assert_non_null(strstr(a->why, "works 0.288 ms"));
		assert_non_null(strstr(a->why, "launches that could be merged into one take 0.141 "
					       "ms"));
		is_said = true;
	}
	assert_true(is_said);
	forget();
}

/*
 * What autograd launches counts for the lines of the forward pass: 12 launches and 16 of their
 * backward pass are more than the rest of backward(), and than another line's 8 and 6.
 */
static void launches_of_a_backward_pass_are_their_lines(void **state)
{
	uint32_t tied[2] = { 0 };
	(void)state;
	tw = mem_zero(sizeof(*tw));
	make_frames();
	twin_record(tw, launching_both_passes, 5);
	for (size_t i = 0; i < tw->a.timeline.calls.n; i++) {
		struct timeline_call *c = &tw->a.timeline.calls.at[i];
		uint32_t n = (uint32_t)(i % BOTH_PASSES), node = n - FORWARD_LAUNCHES;
		if (c->site != BACKWARD)
			continue;
		c->forward_site = node < 16 ? FORWARD : node < 22 ? OTHER_FORWARD : 0;
		tied[c->forward_site == OTHER_FORWARD]++;
	}
	assert_true(tied[1] == 5 * 6);
	f = (struct findings){ 0 };
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
	assert_true(advises("fewer, larger kernels"));
	for (size_t i = 0; i < f.advice.n; i++) {
		const struct finding_advice *a = &f.advice.at[i];
		if (!strstr(a->what, "fewer, larger kernels"))
			continue;
		assert_int_equal(a->site, FORWARD);
		assert_non_null(strstr(a->why, "ms in its backward pass; train.py:2 0."));
	}
	forget();
}

/* ---- Graphs ---- */

static const struct finding_advice *advice_at(uint32_t site)
{
	for (size_t i = 0; i < f.advice.n; i++)
		if (f.advice.at[i].site == site)
			return &f.advice.at[i];
	return NULL;
}

/* Work that a graph launches is not launched one by one. Launched singly, such small kernels make
 * the advice. */
static void graphs_are_not_advised_for_graphs(void **state)
{
	(void)state;
	judge(many_graphs, false, 5);
	assert_false(advises("CUDA graphs"));
	assert_null(advice_at(NODE));
	forget();
	judge(one_launch, false, 5);
	assert_true(advises("CUDA graphs"));
	forget();
}

static void a_host_node_is_named(void **state)
{
	(void)state;
	judge(host_node, false, 5);
	const struct finding_advice *a = advice_at(HOST_NODE);
	assert_non_null(a);
	assert_non_null(strstr(a->what, "host function out of the graph"));
	assert_near(a->expected_ms, truth_ms(host_node), 0.02);
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_null(advice_at(REPLAY));
	forget();
}

/* The copy is at the line that captured it, not at the launch of the graph. */
static void a_captured_copy_is_named(void **state)
{
	(void)state;
	judge(copy_node, false, 5);
	const struct finding_advice *a = advice_at(COPY_NODE);
	assert_non_null(a);
	assert_non_null(strstr(a->what, "copy less"));
	assert_near(a->expected_ms, 0.2, 0.05);
	assert_non_null(strstr(a->why, "0.200 ms per step at this line"));
	assert_null(advice_at(REPLAY));
	forget();
}

/* The advice fits a graph: the copy can only move to another branch, or out of the graph. */
static void a_captured_pinned_copy_is_advised_for_a_branch(void **state)
{
	(void)state;
	judge(pinned_out_node, false, 5);
	const struct finding_advice *a = advice_at(COPY_NODE);
	assert_non_null(a);
	assert_string_equal(a->what, "copy less, or capture the copy on a second stream");
	assert_near(a->expected_ms, truth_ms(pinned_out_node), 0.02);
	assert_null(advice_at(REPLAY));
	forget();
	judge(pinned_in_node, false, 5);
	a = advice_at(COPY_NODE);
	assert_non_null(a);
	assert_non_null(strstr(a->what, "outside the graph on a separate stream"));
	assert_near(a->expected_ms, truth_ms(pinned_in_node), 0.02);
	forget();
}

static void recoverable_is_what_the_fix_saves(void **state)
{
	(void)state;
	judge(device_bound, false, 5);
	assert_near(recoverable(WAIT), truth_ms(device_bound), 0.05);
	assert_int_equal(f.advice.at[0].site, WAIT);
	assert_non_null(strstr(f.advice.at[0].why, ": 6 times per step, blocked"));
	assert_near(f.advice.at[0].expected_ms, truth_ms(device_bound), 0.05);
	forget();
}

/* One alone wins nothing, and the advice says so and names both. */
static void hidden_waits_are_named_together(void **state)
{
	(void)state;
	judge(hidden_both, false, 5);
	assert_true(recoverable(WAIT) < 0.01 && recoverable(OTHER_WAIT) < 0.01);
	assert_int_equal(f.advice.n, 1);
	assert_near(f.advice.at[0].expected_ms, truth_ms(hidden_both), 0.02);
	assert_non_null(strstr(f.advice.at[0].why, "train.py:40"));
	assert_non_null(strstr(f.advice.at[0].why, "train.py:41"));
	forget();
}

/* A copy and the wait behind it are one fault, shown where the host stands. */
static void a_read_on_two_lines_is_one(void **state)
{
	static const struct {
		twin_step step;
		uint32_t site;
	} rows[] = { { read_on_two_lines, WAIT }, { read_on_two_lines_pageable, COPY } };
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		judge(rows[i].step, false, 5);
		assert_int_equal(f.syncs.n, 1);
		assert_int_equal(f.syncs.at[0].site, rows[i].site);
		assert_int_equal(f.syncs.at[0].kind, SYNC_ITEM);
		assert_float_equal(f.syncs.at[0].per_step, LAYERS, 1e-9);
		assert_near(recoverable(rows[i].site), truth_ms(rows[i].step), 0.05);
		assert_near(f.syncs.at[0].line_ms, truth_ms(rows[i].step), 0.05);
		assert_int_equal(f.advice.n, 1);
		forget();
	}
}

static void streams_that_take_turns_are_named(void **state)
{
	(void)state;
	judge(taking_turns, false, 5);
	assert_int_equal(f.verdict, VERDICT_GPU);
	assert_int_equal(f.advice.n, 1);
	assert_int_equal(f.advice.at[0].site, WAIT);
	assert_near(f.advice.at[0].expected_ms, truth_ms(taking_turns), 0.05);
	forget();
}

/* A launch into the legacy stream keeps four streams apart; their waits cost hardly anything. */
static void a_launch_into_the_legacy_stream_is_named(void **state)
{
	(void)state;
	judge(legacy_moved, false, 5);
	assert_int_equal(f.advice.at[0].site, 3);
	assert_true(advises("not into the legacy default stream"));
	assert_near(f.advice.at[0].expected_ms, truth_ms(legacy_moved), 0.05);
	forget();
	judge(legacy_moved, true, 5);
	assert_false(advises("legacy default stream"));
	forget();
}

/* A copy that blocks is a wait and a copy: one fix, named once. */
/* Data goes to the CPU, which works on it, and comes back. */
static void round_trip(struct twin *made)
{
	for (int i = 0; i < 4; i++)
		twin_launch(made, 1, 20, "layer", 1);
	for (int i = 0; i < 4; i++)
		twin_copy(made, 1, COPY_D2H, 1 << 20, 50, true, COPY);
	twin_host(made, 500);
	for (int i = 0; i < 4; i++)
		twin_copy(made, 1, COPY_H2D, 1 << 20, 50, true, NEXT);
}

/* Each of four streams copies its input to the device, works on it, and copies the result back. */
static void pipeline(struct twin *made)
{
	for (int i = 0; i < 4; i++) {
		twin_copy(made, 1 + i, COPY_H2D, 1 << 20, 50, false, NEXT);
		twin_launch(made, 1 + i, 100, "filter", 1);
		twin_copy(made, 1 + i, COPY_D2H, 1 << 20, 50, false, COPY);
	}
	twin_wait_device(made, WAIT);
}

static bool is_advised(const char *what)
{
	for (size_t i = 0; i < f.advice.n; i++)
		if (strstr(f.advice.at[i].what, what))
			return true;
	return false;
}

static void a_pipeline_is_no_round_trip(void **state)
{
	(void)state;
	judge(round_trip, false, 8);
	assert_true(is_advised("keep this data on the GPU"));
	forget();
	judge(pipeline, false, 8);
	assert_true(f.advice.n >= 1);
	assert_false(is_advised("keep this data on the GPU"));
	forget();
}

static void a_copy_is_named_once(void **state)
{
	(void)state;
	judge(blocking_copy, false, 5);
	assert_int_equal(f.advice.n, 1);
	assert_int_equal(f.advice.at[0].cause, VERDICT_COPY);
	assert_int_equal(f.advice.at[0].site, COPY);
	forget();
}

static void pinned_in_line(struct twin *made)
{
	twin_copy(made, made->is_fixed ? 2 : 1, COPY_H2D, 8 << 20, 400, false, COPY);
	twin_launch(made, 1, 600, "layer", 1);
	twin_wait_stream(made, 1, WAIT);
}

/* Who copies from pinned memory already is not told to. */
static void a_pinned_copy_is_known(void **state)
{
	(void)state;
	judge(pinned_in_line, false, 5);
	assert_int_equal(f.verdict, VERDICT_COPY);
	assert_int_equal(f.savings.at[1].resource, VERDICT_GPU);
	assert_true(advises("copy less, or copy on a separate stream"));
	assert_false(advises("pinned"));
	assert_near(f.advice.at[0].expected_ms, truth_ms(pinned_in_line), 0.05);
	forget();
}

/* The copies take longer than the kernels, but nothing can be done about it. */
static void pinned_on_its_own(struct twin *made)
{
	twin_copy(made, 2, COPY_H2D, 8 << 20, 900, false, COPY);
	twin_launch(made, 1, 300, "layer", 1);
	twin_wait_device(made, WAIT);
}

static void a_pinned_copy_on_its_own_stream_promises_nothing(void **state)
{
	(void)state;
	judge(pinned_on_its_own, false, 5);
	assert_int_equal(f.verdict, VERDICT_COPY);
	for (size_t i = 0; i < f.advice.n; i++)
		assert_int_not_equal(f.advice.at[i].cause, VERDICT_COPY);
	forget();
}

/* If steps vary so much that the run could not show the savings, they are not promised. */
static void savings_below_the_noise_are_not_promised(void **state)
{
	(void)state;
	judge(device_bound, false, 5);
	assert_int_equal(f.advice.n, 1);
	for (int many = 0; many < 2; many++) {
		findings_free(&f);
		f = (struct findings){ .median_error_ms = many ? 0.015 : 0.3 };
		summary_fill(&f, &tw->a.timeline);
		replay_fill(&f);
		assert_int_equal(f.advice.n, many);
	}
	forget();
}

/* Where steps vary, other runs may save more or less than this one. */
static void an_interval_holds_the_savings(void **state)
{
	(void)state;
	judge(uneven_input, false, 8);
	const struct finding_advice *a = &f.advice.at[0];
	assert_true(a->interval_low_ms < 0.6 * a->expected_ms);
	assert_true(a->interval_high_ms > 1.4 * a->expected_ms);
	forget();
	judge(slow_input, false, 8);
	a = &f.advice.at[0];
	assert_near(a->interval_low_ms, 0.8 * a->expected_ms, 0.05);
	assert_near(a->interval_high_ms, 1.2 * a->expected_ms, 0.05);
	forget();
}

static void both_ways_pinned(struct twin *made)
{
	made->is_pinned = true;
	in_and_out(made);
}

static void fetching_into_pinned_memory(struct twin *made)
{
	made->is_pinned = true;
	fetching(made);
}

/* Memory that is pinned already is not to be pinned, and only Python has PyTorch's arguments. */
static void advice_on_copies_fits_the_program(void **state)
{
	(void)state;
	judge(in_and_out, false, 5);
	assert_string_equal(f.advice.at[0].what, "copy asynchronously from pinned memory");
	forget();
	judge(both_ways_pinned, false, 5);
	assert_string_equal(f.advice.at[0].what, "copy asynchronously");
	forget();
	judge(fetching_into_pinned_memory, false, 5);
	assert_string_equal(f.advice.at[0].what,
			    "copy asynchronously, and read the result one step later");
	forget();
	is_torch = true;
	judge(in_and_out, false, 5);
	assert_string_equal(f.advice.at[0].what,
			    "copy asynchronously from pinned memory (non_blocking=True)");
	forget();
	judge(both_ways_pinned, false, 5);
	assert_string_equal(f.advice.at[0].what, "copy asynchronously (non_blocking=True)");
	forget();
	is_torch = false;
}

/* What changes win together is played, not added up. */
static void gains_that_overlap_are_known(void **state)
{
	(void)state;
	judge(launch_bound, false, 5);
	assert_true(f.advice.n >= 2);
	double sum = 0, last = 0;
	for (size_t i = 0; i < f.advice.n; i++) {
		const struct finding_advice *a = &f.advice.at[i];
		sum += a->expected_ms;
		assert_true(a->together_ms >= last && a->together_ms <= sum + 1e-9);
		last = a->together_ms;
	}
	assert_near(f.advice.at[0].together_ms, f.advice.at[0].expected_ms, 1e-6);
	assert_true(last < 0.9 * sum);
	forget();
}

/* Each row has what its own waits win; the advice is of the line. */
static void kinds_of_one_line_are_distinguished(void **state)
{
	(void)state;
	judge(two_kinds, false, 5);
	assert_int_equal(f.syncs.n, 2);
	const struct finding_sync *a = &f.syncs.at[0], *b = &f.syncs.at[1];
	assert_int_equal(a->site, b->site);
	assert_int_not_equal(a->kind, b->kind);
	assert_true(fabs(a->recoverable_ms - b->recoverable_ms) > 0.05);
	assert_near(a->line_ms, b->line_ms, 1e-6);
	assert_int_equal(f.advice.at[0].site, WAIT);
	assert_near(f.advice.at[0].expected_ms, truth_ms(two_kinds), 0.05);
	forget();
}

/* Copies to the device and from it are fixed differently. */
static void a_copy_is_fixed_by_its_direction(void **state)
{
	(void)state;
	judge(fetching, false, 5);
	assert_non_null(strstr(f.advice.at[0].what, "into pinned memory"));
	assert_int_equal(f.advice.at[0].site, COPY);
	forget();
	judge(blocking_copy, false, 5);
	for (size_t i = 0; i < f.advice.n; i++)
		assert_null(strstr(f.advice.at[i].what, "into pinned memory"));
	forget();
}

/* Four weights of a loss: no memory to copy them from is as good as not copying them. */
static void a_constant_is_made_once(void **state)
{
	(void)state;
	judge(constants, false, 5);
	assert_int_equal(f.advice.n, 1);
	assert_int_equal(f.advice.at[0].site, COPY);
	assert_non_null(strstr(f.advice.at[0].what, "copy this data once, before the loop"));
	forget();
	judge(blocking_copy, false, 5);
	assert_null(strstr(f.advice.at[0].what, "copy this data once"));
	forget();
}

/* Of a line that copies both ways what costs more is told. */
static void a_line_that_copies_both_ways(void **state)
{
	(void)state;
	judge(in_and_out, false, 5);
	assert_int_equal(f.syncs.n, 2);
	assert_int_equal(f.syncs.at[0].kind, SYNC_COPY);
	assert_int_equal(f.syncs.at[1].kind, SYNC_ITEM);
	assert_int_equal(f.advice.at[0].site, COPY);
	assert_non_null(strstr(f.advice.at[0].what, "copy asynchronously from pinned memory"));
	forget();
}

static void a_clean_program_gets_no_advice(void **state)
{
	static const twin_step clean[] = { device_bound, free_running, hidden_both, two_streams,
					   taking_turns };
	(void)state;
	for (size_t i = 0; i < sizeof(clean) / sizeof(*clean); i++) {
		judge(clean[i], true, 5);
		for (size_t k = 0; k < f.advice.n; k++)
			fail_msg("program %zu: %s", i, f.advice.at[k].what);
		forget();
	}
}

static void steps_that_differ_save_differently(void **state)
{
	(void)state;
	judge(uneven_input, false, 8);
	const struct finding_advice *a = &f.advice.at[0];
	assert_int_equal(a->site, BATCH);
	assert_near(a->expected_ms, truth_ms(uneven_input), 0.05);
	assert_near(a->low_ms, 0.1, 0.1);
	assert_near(a->high_ms, 0.9, 0.05);
	assert_non_null(strstr(a->why, "savings vary by step, from 0.1"));
	forget();
	judge(slow_input, false, 8);
	a = &f.advice.at[0];
	assert_near(a->low_ms, a->expected_ms, 0.02);
	assert_near(a->high_ms, a->expected_ms, 0.02);
	assert_null(strstr(a->why, "savings vary"));
	forget();
}

/*
 * Without the waits the device is the bottleneck. The host, which runs ahead, does not determine
 * the step time.
 */
static void a_gain_lies_within_its_range(void **state)
{
	static const twin_step steps[] = { device_bound, host_bound, blocking_copy, two_causes,
					   held_up };
	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		judge(steps[i], false, 8);
		assert_true(f.advice.n >= 1);
		for (size_t k = 0; k < f.advice.n; k++) {
			const struct finding_advice *a = &f.advice.at[k];
			if (a->expected_ms < a->low_ms - 1e-6 || a->expected_ms > a->high_ms + 1e-6)
				fail_msg("program %zu: %.4f of %.4f to %.4f", i, a->expected_ms,
					 a->low_ms, a->high_ms);
		}
		forget();
	}
	judge(device_bound, false, 8);
	assert_near(f.advice.at[0].high_ms, truth_ms(device_bound), 0.05);
	assert_true(f.advice.at[0].high_ms <= f.gpus.at[0].idle_ms * 1.02);
	forget();
}

/*
 * The mean of all steps would promise 0.29 ms: that is how long the wait idles the device while the
 * machine is busy.
 */
static void disturbed_steps_promise_nothing(void **state)
{
	(void)state;
	judge(held_up, false, 8);
	assert_near(f.measured_ms, 1.61, 0.01);
	assert_near(f.step_ms, 0.36, 0.03);
	assert_true(is_evidence("2 of 8 recorded steps took more than 1.5x"));
	assert_int_equal(f.n_played - f.n_typical, 2);
	assert_near(f.gpus.at[0].typical_busy_ms + f.gpus.at[0].typical_idle_ms, 0.36, 0.03);
	assert_near(f.gpus.at[0].busy_ms + f.gpus.at[0].idle_ms, 1.61, 0.01);
	bool is_said = false;
	for (size_t i = 0; i < f.evidence.n; i++)
		is_said |= strstr(f.evidence.at[i].text, "ms per typical step") != NULL;
	assert_true(is_said);
	double idle_ms = 0;
	for (size_t i = 0; i < f.idle.n; i++)
		idle_ms += f.idle.at[i].typical_ms;
	assert_near(idle_ms, f.gpus.at[0].typical_idle_ms, 1e-6);
	assert_int_equal(f.advice.at[0].site, WAIT);
	assert_int_equal(f.advice.at[0].rare_steps, 0);
	assert_near(f.advice.at[0].expected_ms, 0.06, 0.15);
	forget();
}

/*
 * Three steps, all of them three times as long as those next to them. None of the three is typical,
 * so no saving is longer than a typical step either.
 */
static void three_disturbed_steps_promise_a_share(void **state)
{
	const double times = 3;
	(void)state;
	judge(host_bound, false, 3);
	double gain_ms = f.advice.at[0].expected_ms, step_ms = f.step_ms,
	       wait_ms = recoverable(WAIT), confidence = f.confidence;
	findings_free(&f);
	f = (struct findings){ 0 };
	tw->a.timeline.disturbed_ratio = times;
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
	assert_near(f.step_ms, step_ms / times, 1e-6);
	assert_near(f.mean_ms, step_ms / times, 0.02);
	assert_near(f.recorded_ms, step_ms, 1e-6);
	assert_near(f.advice.at[0].expected_ms, gain_ms / times, 1e-6);
	assert_near(recoverable(WAIT), wait_ms / times, 1e-6);
	assert_near(f.confidence, confidence / times, 1e-6);
	assert_near(f.disturbed_times, times, 1e-6);
	assert_true(is_evidence("recorded steps took 3.0x as long"));
	findings_free(&f);
	f = (struct findings){ .work_times = 2.9 };
	summary_fill(&f, &tw->a.timeline);
	replay_fill(&f);
	assert_false(is_evidence("as long as the steps around them"));
	assert_true(is_evidence("recorded steps launch 2.9 times as much work as the median step"));
	assert_int_equal(f.verdict, VERDICT_HOST);
	assert_int_equal(f.savings.at[1].resource, VERDICT_SYNC);
	forget();
}

/* Longer steps that come again and again are none that were disturbed. */
static void steps_of_two_kinds_count(void **state)
{
	(void)state;
	judge(logging, false, 12);
	assert_near(f.step_ms, f.measured_ms, 0.01);
	for (size_t i = 0; i < f.evidence.n; i++)
		assert_null(strstr(f.evidence.at[i].text, "recorded steps took more than 1.5x"));
	assert_near(recoverable(COPY), truth_ms(logging), 0.1);
	forget();
}

/* Of the mean step, and so told. */
static void what_few_steps_do_is_named(void **state)
{
	(void)state;
	judge(checkpoint, false, 8);
	assert_int_equal(f.advice.n, 1);
	const struct finding_advice *a = &f.advice.at[0];
	assert_int_equal(a->site, COPY);
	assert_int_equal(a->rare_steps, 2);
	assert_near(a->expected_ms, truth_ms(checkpoint), 0.05);
	assert_near(f.mean_ms, twin_measure(checkpoint, false) / 1e3, 0.01);
	assert_true(f.step_ms < 0.22);
	assert_non_null(strstr(a->why, "; saves time in only 2 of 8 steps (0.4"));
	forget();
}

/* What usual steps do on the first screen adds up to the length that gains are held against. */
static void typical_steps_are_the_same_for_all(void **state)
{
	(void)state;
	judge(pickled_checkpoint, false, 8);
	assert_true(f.n_typical < f.n_played);
	assert_near(f.recorded_ms, 0.206, 0.05);
	assert_near(f.gpus.at[0].typical_busy_ms + f.gpus.at[0].typical_idle_ms, f.recorded_ms,
		    0.05);
	forget();
}

/*
 * A line of every step that waits in only a few: a part of the line is removed with the wait, and
 * both savings refer to the mean step.
 */
static void a_line_saves_no_less_than_its_wait(void **state)
{
	(void)state;
	judge(checkpoint_of_a_line, false, 8);
	assert_int_equal(f.syncs.n, 1);
	assert_true(f.syncs.at[0].recoverable_ms > 0.09);
	assert_true(f.syncs.at[0].line_ms >= f.syncs.at[0].recoverable_ms);
	forget();
}

/* 24 launches in every step; 60 more, of another line, in each fourth. */
static void launches_of_few_steps_are_not_named(void **state)
{
	const struct finding_advice *launches = NULL;
	(void)state;
	judge(launching_now_and_then, false, 8);
	assert_true(f.n_typical < f.n_played);
	assert_near(f.gpus.at[0].kernels, 39, 1e-6);
	assert_near(f.gpus.at[0].typical_kernels, 24, 1e-6);
	for (size_t i = 0; i < f.advice.n; i++)
		if (strstr(f.advice.at[i].what, "fewer, larger kernels"))
			launches = &f.advice.at[i];
	assert_non_null(launches);
	assert_int_equal(launches->site, FORWARD);
	assert_null(strstr(launches->why, "train.py:2"));
	assert_non_null(strstr(launches->why, "take 0.072 ms of CPU time per step at this line"));
	forget();
}

static void advice_is_sorted_and_worth_it(void **state)
{
	(void)state;
	judge(two_causes, false, 5);
	assert_true(f.advice.n >= 2);
	for (size_t i = 0; i < f.advice.n; i++) {
		assert_true(f.advice.at[i].expected_ms >= 0.02 * f.measured_ms);
		assert_true(!i || f.advice.at[i].expected_ms <= f.advice.at[i - 1].expected_ms);
		assert_true(f.advice.at[i].site);
	}
	forget();
}

/* One step, or a run without steps, has a verdict, but never a sure one. */
static void one_step_is_judged_with_low_confidence(void **state)
{
	static const twin_step steps[] = { hidden_both, blocking_copy, slow_input };
	static const uint8_t verdicts[] = { VERDICT_SYNC, VERDICT_COPY, VERDICT_INPUT };
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		judge(steps[i], false, 1);
		assert_int_equal(f.verdict, verdicts[i]);
		assert_true(f.confidence > 0.3 && f.confidence <= 0.5);
		assert_true(is_evidence("only one step was recorded"));
		assert_false(is_evidence("to settle it"));
		forget();
	}
}

static void too_little_is_not_judged(void **state)
{
	(void)state;
	judge(host_bound, false, 0);
	assert_int_equal(f.verdict, VERDICT_UNKNOWN);
	assert_true(f.unavailable.n > 0 && f.measured_ms <= 0);
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdict_is_the_cause),
		cmocka_unit_test(a_late_return_is_no_delay_of_the_device),
		cmocka_unit_test(savings_that_are_close_are_unclear),
		cmocka_unit_test(waits_that_come_and_go_are_no_noise),
		cmocka_unit_test(few_steps_do_not_rule_out_more),
		cmocka_unit_test(a_stall_does_not_bind_a_busy_device),
		cmocka_unit_test(more_steps_settle_what_varies),
		cmocka_unit_test(uneven_steps_have_a_cause_and_outliers),
		cmocka_unit_test(bursts_save_what_they_take),
		cmocka_unit_test(a_small_part_of_the_time_is_no_limit),
		cmocka_unit_test(all_steps_settle_what_typical_ones_do_not),
		cmocka_unit_test(savings_that_a_pause_takes_back_are_no_limit),
		cmocka_unit_test(steps_that_wait_for_earlier_ones),
		cmocka_unit_test(other_load_makes_the_verdict_unclear),
		cmocka_unit_test(contention_is_no_cause),
		cmocka_unit_test(a_wait_for_workers_under_load_is_less_sure),
		cmocka_unit_test(no_input_without_a_loader),
		cmocka_unit_test(samples_tell_what_the_cpu_did),
		cmocka_unit_test(a_wait_for_another_rank_is_no_stall),
		cmocka_unit_test(work_between_the_calls_of_a_line_is_at_its_own_line),
		cmocka_unit_test(the_line_that_waits_is_of_the_innermost_loop),
		cmocka_unit_test(a_line_that_waits_may_make_calls),
		cmocka_unit_test(a_wait_for_a_queue_says_so),
		cmocka_unit_test(workers_that_start_are_named),
		cmocka_unit_test(a_busy_device_binds),
		cmocka_unit_test(short_steps_have_their_cause),
		cmocka_unit_test(giving_memory_back_is_the_cause),
		cmocka_unit_test(host_work_is_where_it_is),
		cmocka_unit_test(causes_besides_input),
		cmocka_unit_test(a_loaders_thread_is_no_line_that_waits),
		cmocka_unit_test(what_a_loader_without_a_line_waits_for),
		cmocka_unit_test(work_in_a_loop_also_saves_its_launches),
		cmocka_unit_test(launches_of_a_backward_pass_are_their_lines),
		cmocka_unit_test(recoverable_is_what_the_fix_saves),
		cmocka_unit_test(graphs_are_not_advised_for_graphs),
		cmocka_unit_test(a_captured_pinned_copy_is_advised_for_a_branch),
		cmocka_unit_test(a_host_node_is_named),
		cmocka_unit_test(a_captured_copy_is_named),
		cmocka_unit_test(hidden_waits_are_named_together),
		cmocka_unit_test(a_read_on_two_lines_is_one),
		cmocka_unit_test(streams_that_take_turns_are_named),
		cmocka_unit_test(a_launch_into_the_legacy_stream_is_named),
		cmocka_unit_test(a_pipeline_is_no_round_trip),
		cmocka_unit_test(a_copy_is_named_once),
		cmocka_unit_test(a_pinned_copy_is_known),
		cmocka_unit_test(advice_on_copies_fits_the_program),
		cmocka_unit_test(a_pinned_copy_on_its_own_stream_promises_nothing),
		cmocka_unit_test(savings_below_the_noise_are_not_promised),
		cmocka_unit_test(an_interval_holds_the_savings),
		cmocka_unit_test(gains_that_overlap_are_known),
		cmocka_unit_test(kinds_of_one_line_are_distinguished),
		cmocka_unit_test(a_copy_is_fixed_by_its_direction),
		cmocka_unit_test(a_constant_is_made_once),
		cmocka_unit_test(a_line_that_copies_both_ways),
		cmocka_unit_test(a_clean_program_gets_no_advice),
		cmocka_unit_test(steps_that_differ_save_differently),
		cmocka_unit_test(a_gain_lies_within_its_range),
		cmocka_unit_test(disturbed_steps_promise_nothing),
		cmocka_unit_test(three_disturbed_steps_promise_a_share),
		cmocka_unit_test(steps_of_two_kinds_count),
		cmocka_unit_test(what_few_steps_do_is_named),
		cmocka_unit_test(typical_steps_are_the_same_for_all),
		cmocka_unit_test(a_line_saves_no_less_than_its_wait),
		cmocka_unit_test(launches_of_few_steps_are_not_named),
		cmocka_unit_test(advice_is_sorted_and_worth_it),
		cmocka_unit_test(one_step_is_judged_with_low_confidence),
		cmocka_unit_test(too_little_is_not_judged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
