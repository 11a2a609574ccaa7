/* Both kinds of clock against the kernel's own, and the points that tie them together. */
#include "core/runtime/clock.h"
#include "core/runtime/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static const uint32_t kinds[] = { CLOCK_KIND_TSC, CLOCK_KIND_MONOTONIC_NS };

/* The machine's own answer decides whether the counter may be tested at all. */
static size_t first_kind(void)
{
	return clock_tsc_usable() ? 0 : 1;
}

static void test_ticks_never_go_back(void **state)
{
	(void)state;
	for (size_t k = first_kind(); k < 2; k++) {
		uint64_t last = clock_ticks(kinds[k]);
		for (int i = 0; i < 100000; i++) {
			uint64_t now = clock_ticks(kinds[k]);
			assert_true(now >= last);
			last = now;
		}
	}
}

static void test_a_point_lies_between_readings_around_it(void **state)
{
	(void)state;
	for (size_t k = first_kind(); k < 2; k++) {
		uint64_t ticks = clock_ticks(kinds[k]), monotonic = clock_read_ns(CLOCK_MONOTONIC),
			 realtime = clock_read_ns(CLOCK_REALTIME);
		struct journal_clock_point p = clock_point(kinds[k]);
		assert_in_range(p.ticks, ticks, clock_ticks(kinds[k]));
		assert_in_range(p.monotonic_ns, monotonic, clock_read_ns(CLOCK_MONOTONIC));
		assert_in_range(p.realtime_ns, realtime, clock_read_ns(CLOCK_REALTIME));
	}
}

/* Two points give a rate: how far a third one is from their line, in ns. */
static double off_the_line(uint32_t kind)
{
	struct journal_clock_point a = clock_point(kind);
	usleep(20000);
	struct journal_clock_point b = clock_point(kind);
	usleep(20000);
	struct journal_clock_point c = clock_point(kind);
	double slope = (double)(c.monotonic_ns - a.monotonic_ns) / (double)(c.ticks - a.ticks);
	assert_true(c.monotonic_ns - a.monotonic_ns >= 40000000);
	return (double)(b.ticks - a.ticks) * slope - (double)(b.monotonic_ns - a.monotonic_ns);
}

/* Within the microsecond that a point may be off, unless the thread was preempted in one. */
static void test_three_points_lie_on_a_line(void **state)
{
	(void)state;
	for (size_t k = first_kind(); k < 2; k++) {
		double least = 1e9;
		for (int i = 0; i < 10 && least >= 2000; i++) {
			double off = fabs(off_the_line(kinds[k]));
			least = off < least ? off : least;
		}
		assert_true(least < 2000);
	}
}

static void test_monotonic_ticks_are_nanoseconds(void **state)
{
	(void)state;
	uint64_t before = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t ticks = clock_ticks(CLOCK_KIND_MONOTONIC_NS);
	assert_in_range(ticks, before, clock_read_ns(CLOCK_MONOTONIC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_never_go_back),
		cmocka_unit_test(test_a_point_lies_between_readings_around_it),
		cmocka_unit_test(test_three_points_lie_on_a_line),
		cmocka_unit_test(test_monotonic_ticks_are_nanoseconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
