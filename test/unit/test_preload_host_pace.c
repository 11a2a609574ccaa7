/* Samples take a bounded part of a core, but the first ones may cost more. */
#include "preload/host_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { PERIOD_NS = 1000000, TICKS = 8 };

struct run {
	struct host_pace pace;
	uint64_t wall_ns, cpu_ns, samples;
};

/* Samples for `ns`, each of which takes `cost_ns` of a CPU. */
static void sample(struct run *r, uint64_t ns, uint64_t cost_ns)
{
	for (uint64_t end_ns = r->wall_ns + ns; r->wall_ns < end_ns;) {
		r->wall_ns += TICKS * host_pace_period_ns(&r->pace, PERIOD_NS);
		r->cpu_ns += TICKS * cost_ns;
		r->samples += TICKS;
		host_pace_count(&r->pace, r->wall_ns, r->cpu_ns, TICKS);
	}
}

static struct run begin(void)
{
	struct run r = { .wall_ns = 77000000, .cpu_ns = 5000 };
	host_pace_begin(&r.pace, r.wall_ns, r.cpu_ns);
	return r;
}

static void test_cheap_samples_keep_the_period(void **state)
{
	struct run r = begin();
	(void)state;
	sample(&r, 1000000000, 24000);
	assert_in_range(r.samples, 990, 1008);
}

static void test_the_first_samples_may_cost_more(void **state)
{
	struct run r = begin();
	(void)state;
	sample(&r, 100000000, 150000);
	sample(&r, 400000000, 24000);
	assert_in_range(r.samples, 490, 516);
}

static void test_dear_samples_take_a_bounded_part_of_a_core(void **state)
{
	struct run r = begin();
	(void)state;
	sample(&r, 10000000000, 100000);
	assert_in_range(r.cpu_ns, 240000000, 280000000); /* a fortieth, and the credit */
}

/* A program that is idle for an hour does not save up for an hour. */
static void test_credit_is_bounded(void **state)
{
	struct run r = begin();
	(void)state;
	sample(&r, 3600000000000, 1000);
	uint64_t before_ns = r.cpu_ns;
	sample(&r, 10000000000, 100000);
	assert_in_range(r.cpu_ns - before_ns, 240000000, 280000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheap_samples_keep_the_period),
		cmocka_unit_test(test_the_first_samples_may_cost_more),
		cmocka_unit_test(test_dear_samples_take_a_bounded_part_of_a_core),
		cmocka_unit_test(test_credit_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
