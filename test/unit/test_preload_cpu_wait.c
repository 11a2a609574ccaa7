/* Between which two readings a thread waited for a CPU. */
#include "preload/cpu_wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIDS_MOST = 1 << 22 };

static struct cpu_wait w;

/* Takes a reading at `ms`. Returns for how many ms the thread waited, and since when in `begin`. */
static uint64_t take(uint64_t ms, uint64_t cpu_ms, uint64_t wait_ms, uint64_t *begin)
{
	const struct cpu_wait_reading now = {
		ms, ms, ms * 1000000, ms * 1000000, cpu_ms * 1000000, wait_ms * 1000000
	};
	*begin = 0;
	return cpu_wait_take(&w, &now, begin) / 1000000;
}

static void test_a_wait_within_one_period(void **state)
{
	uint64_t begin;
	(void)state;
	w = (struct cpu_wait){ 0 };
	assert_int_equal(take(10, 100, 50, &begin), 0); /* what was before is not known */
	assert_int_equal(take(20, 110, 50, &begin), 0);
	assert_int_equal(take(30, 113, 57, &begin), 7);
	assert_int_equal(begin, 20);
	assert_int_equal(take(40, 123, 57, &begin), 0);
}

/* The kernel counts a wait when it ends. */
static void test_a_wait_of_several_periods(void **state)
{
	uint64_t begin;
	(void)state;
	w = (struct cpu_wait){ 0 };
	take(10, 100, 0, &begin);
	take(20, 110, 0, &begin);
	assert_int_equal(take(30, 116, 0, &begin), 0); /* lost its CPU at 26 */
	assert_int_equal(take(40, 116, 0, &begin), 0);
	assert_int_equal(take(50, 119, 21, &begin), 21); /* got it back at 47 */
	assert_int_equal(begin, 20);
	assert_int_equal(take(60, 124, 26, &begin), 5);
	assert_int_equal(begin, 50);
}

/* The reading thread lost its CPU from 20 to 35 ms, after it noted the time. */
static void test_a_slow_reading(void **state)
{
	const struct cpu_wait_reading slow = { 20, 35, 20000000, 35000000, 12000000, 9000000 },
				      next = { 40, 40, 40000000, 40000000, 13000000, 21000000 };
	uint64_t begin;
	(void)state;
	w = (struct cpu_wait){ 0 };
	take(10, 10, 0, &begin);
	assert_int_equal(cpu_wait_take(&w, &slow, &begin), 9000000);
	assert_int_equal(begin, 10);
	assert_int_equal(cpu_wait_take(&w, &next, &begin), 12000000);
	assert_int_equal(begin, 10); /* it is longer than from 35 to 40 */
}

static void test_cpu_time_of_a_thread(void **state)
{
	(void)state;
	struct timespec own;
	uint64_t first = cpu_wait_cpu_ns((uint32_t)gettid());
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
	} while ((uint64_t)own.tv_nsec + (uint64_t)own.tv_sec * 1000000000ull < first + 1000000);
	assert_true(cpu_wait_cpu_ns((uint32_t)gettid()) >= first + 1000000);
	assert_int_equal(cpu_wait_cpu_ns(PIDS_MOST + 1), 0);
}

/* A child that has ended has used some CPU time. */
static void test_cpus_of_children(void **state)
{
	char text[64];
	struct cpu_wait_children from = cpu_wait_read_children();
	(void)state;
	assert_false(cpu_wait_describe_children(&from, text, sizeof(text)));
	pid_t child = fork();
	if (!child) {
		volatile uint64_t n = 0;
		while (n < 50000000)
			n = n + 1;
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(cpu_wait_describe_children(&from, text, sizeof(text)));
	assert_true(strtod(text, NULL) > 0 && strtod(text, NULL) < 1.2);
	assert_non_null(strstr(text, " of "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_wait_within_one_period),
		cmocka_unit_test(test_a_wait_of_several_periods),
		cmocka_unit_test(test_a_slow_reading),
		cmocka_unit_test(test_cpu_time_of_a_thread),
		cmocka_unit_test(test_cpus_of_children),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
