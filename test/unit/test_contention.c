/* Where a wait for a CPU is placed, if the thread made many calls in the time in which it lies. */
#include "test/unit/idle_made.h"

#include <cmocka.h>

enum { STEP_US = 10000, LEARN = 5 };

/* A step without contention: two kernels, 100 us of CPU work in between, and a wait. */
static void add_step(struct fixture *f, int number, double extra_before, double extra_within,
		     double extra_exit)
{
	double at = (double)number * STEP_US, done;
	sb_step(&f->b, (uint64_t)number, at, at + STEP_US);
	sb_launch(&f->b, at, at + 5, at + 50, 1);
	at += 103 + extra_before;
	uint32_t id = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
						       .category = CAT_LAUNCH,
						       .begin_us = at,
						       .end_us = at + 3 + extra_within,
						       .stack = 2 });
	at += 3 + extra_within;
	done = at + 500;
	sb_work(&f->b,
		(struct sb_work){ .name = "k", .begin_us = at + 2, .end_us = done, .call = id });
	call(f, "cudaDeviceSynchronize", CAT_SYNC, at + 10, done + 5 + extra_exit, 3);
}

static void learn_steps(struct fixture *f)
{
	for (int i = 0; i < LEARN; i++) {
		add_step(f, i, 0, 0, 0);
		end_step(f);
	}
}

static void wait_for_cpu(struct fixture *f, double from, double to, double us)
{
	double at = LEARN * STEP_US;
	sb_cpu_wait(&f->b, at + from, at + to, us, 1);
}

static const struct timeline_call *last_call(const struct fixture *f, size_t back)
{
	return &f->a.timeline.calls.at[f->a.timeline.calls.n - 1 - back];
}

static void placed_where_it_takes_longer(void **state)
{
	static const struct {
		double before, within, exit; /* by how much a part is longer */
		double waited_before, waited_within, waited_exit;
	} rows[] = {
		{ 3000, 0, 0, 3000, 0, 0 }, { 0, 3000, 0, 0, 3000, 0 },
		{ 0, 0, 3000, 0, 0, 3000 }, { 2000, 1000, 0, 2000, 1000, 0 },
		{ 0, 0, 0, 0, 0, 0 }, /* while it waited for the GPU anyway */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fixture *f = *state;
		learn_steps(f);
		add_step(f, LEARN, rows[i].before, rows[i].within, rows[i].exit);
		wait_for_cpu(f, -1000, 5000, 3000);
		end_step(f);
		summary_fill(&f->f, &f->a.timeline);
		assert_float_equal((double)last_call(f, 1)->waited_before_ns / 1e3,
				   rows[i].waited_before, 20);
		assert_float_equal((double)last_call(f, 1)->waited_within_ns / 1e3,
				   rows[i].waited_within, 20);
		assert_float_equal((double)last_call(f, 0)->waited_within_ns / 1e3,
				   rows[i].waited_exit, 20);
		/* the device is idle meanwhile, except while a kernel before runs */
		assert_float_equal(
			idle_us(f, IDLE_CONTENTION),
			rows[i].waited_before + rows[i].waited_within + rows[i].waited_exit, 60);
		tear_down(state);
		set_up(state);
	}
}

/* Adds a step whose CPU work between two calls is `length` us long. The thread certainly waited
 * there for `waited` us. Returns how much of it counts. */
static double counted(struct fixture *f, int number, double length, double waited)
{
	add_step(f, number, length, 0, 0);
	if (waited > 0)
		sb_cpu_wait(&f->b, number * STEP_US + 110, number * STEP_US + length, waited, 1);
	end_step(f);
	return (double)last_call(f, 1)->waited_before_ns / 1e3;
}

/* If the thread made no call in that time, the wait was there, even if each step has one. */
static void placed_where_it_must_have_been(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < LEARN * 2; i++) {
		double waited = 1000 + 300.0 * (i % 4);
		double us = counted(f, i, 3000 + waited, waited);
		assert_float_equal(us, waited, 1);
	}
}

/* Work until a clock says so takes no longer if the CPU is lost meanwhile. */
static void a_loop_for_a_time_loses_nothing(void **state)
{
	struct fixture *f = *state;
	counted(f, 0, 4000, 0);
	for (int i = 1; i < LEARN * 2; i++)
		assert_float_equal(counted(f, i, 4000, 1000 + 300.0 * (i % 4)), 0, 1);
}

/* Other threads' calls are not made longer by it. */
static void not_placed_in_calls_of_other_threads(void **state)
{
	struct fixture *f = *state;
	learn_steps(f);
	add_step(f, LEARN, 0, 3000, 0);
	sb_cpu_wait(&f->b, LEARN * STEP_US - 1000, LEARN * STEP_US + 5000, 3000, 2);
	end_step(f);
	assert_float_equal((double)last_call(f, 1)->waited_within_ns, 0, 0.1);
}

/* Both steps have the wait. Each takes the part of it that makes something in it longer. */
static void shared_by_two_steps(void **state)
{
	struct fixture *f = *state;
	double border = LEARN * STEP_US;
	learn_steps(f);
	sb_step(&f->b, LEARN, border, border + STEP_US);
	sb_launch(&f->b, border, border + 5, border + 50, 1);
	sb_launch(&f->b, border + 103, border + 110, border + 500, 2);
	call(f, "cudaDeviceSynchronize", CAT_SYNC, border + 110, border + 505, 3);
	call(f, "cudaDeviceSynchronize", CAT_SYNC, border + STEP_US - 1000, border + STEP_US, 3);
	sb_cpu_wait(&f->b, border + STEP_US - 3000, border + STEP_US + 3000, 1000, 1);
	end_step(f);
	assert_float_equal((double)last_call(f, 0)->waited_within_ns / 1e3, 995, 1);
	add_step(f, LEARN + 1, 0, 900, 0);
	sb_cpu_wait(&f->b, border + STEP_US - 3000, border + STEP_US + 3000, 1000, 1);
	end_step(f);
	assert_float_equal((double)last_call(f, 1)->waited_within_ns, 0, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(placed_where_it_takes_longer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(placed_where_it_must_have_been, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_loop_for_a_time_loses_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_placed_in_calls_of_other_threads, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(shared_by_two_steps, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
