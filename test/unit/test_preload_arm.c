/*
 * Which action a step has: the schedule, windows on request, the flight recorder, steps that are
 * renumbered.
 */
#include "preload/arm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arm started(const char *schedule, bool is_learned)
{
	struct schedule s;
	struct arm a;
	assert_int_equal(schedule_parse(schedule, &s, NULL), 0);
	arm_start(&a, &s, true, is_learned);
	return a;
}

static struct arm recorded(const char *schedule)
{
	return started(schedule, false);
}

/* Steps are being learned. */
static struct arm unlocked(const char *schedule)
{
	return started(schedule, true);
}

/* One letter a step from `from` on: N none, W warm-up, O opening, R record, S record and save. */
static void expect(const struct arm *a, uint64_t from, const char *want)
{
	char got[64] = "";
	size_t n = strlen(want);
	for (size_t i = 0; i < n; i++)
		got[i] = "NWORS"[arm_action(a, from + i)];
	if (strcmp(got, want))
		fail_msg("from step %llu on: want %s, got %s", (unsigned long long)from, want, got);
}

static void test_schedule_alone(void **state)
{
	(void)state;
	struct arm a = recorded("skip_first=2,warmup=1,active=2,repeat=1");
	expect(&a, 0, "NNWRSNNN");
	a = recorded("off");
	expect(&a, 0, "NNNN");
	assert_false(arm_is_off(&a));
	a.may_be_asked = false;
	assert_true(arm_is_off(&a));
}

static void test_asked_when_the_schedule_is_over(void **state)
{
	(void)state;
	struct arm a = recorded("skip_first=2,warmup=1,active=2,repeat=1");
	struct arm_window w = arm_ask(&a, 10, 0, 0);
	assert_int_equal(w.first, 11);
	assert_int_equal(w.n, 2);
	expect(&a, 8, "NNWRSNNN");
	arm_ask(&a, 20, 0, 4);
	expect(&a, 18, "NNWRRRSNN");
}

/* Uncounted steps, of a program that switched to other work, are no steps for the schedule. */
static void test_skipped_steps_cost_no_window(void **state)
{
	(void)state;
	struct arm a = recorded("skip_first=2,warmup=1,active=2,repeat=1");
	arm_skip(&a, 7);
	expect(&a, 8, "NWRSNN");
	a = recorded("always");
	arm_skip(&a, 7);
	expect(&a, 0, "RR");
}

/* off and always have no numbers of their own: the default schedule's count. */
static void test_asked_of_a_schedule_without_numbers(void **state)
{
	(void)state;
	struct arm a = recorded("off");
	arm_ask(&a, 5, 0, 0);
	expect(&a, 4, "NWWRRSNN");
	a = recorded("always");
	arm_ask(&a, 5, 0, 1);
	expect(&a, 4, "RRRSR");
}

static void test_asked_again_while_a_window_lasts(void **state)
{
	(void)state;
	struct arm a = recorded("off");
	arm_ask(&a, 0, 0, 2);
	expect(&a, 0, "WWRSN");
	arm_ask(&a, 1, 0, 3); /* warming up: it is only longer */
	expect(&a, 0, "WWRRSN");
	arm_ask(&a, 4, 0, 3);
	expect(&a, 0, "WWRRRRSN");
	arm_ask(&a, 5, 0, 1); /* what is asked for is there already */
	expect(&a, 0, "WWRRRRSN");
	assert_true(arm_is_asked(&a, 6));
	assert_false(arm_is_asked(&a, 7));
}

/* A step that several ranks were named. */
static void test_asked_from_a_step_on(void **state)
{
	(void)state;
	struct arm a = recorded("off");
	assert_int_equal(arm_ask(&a, 3, 6, 2).first, 8);
	expect(&a, 3, "NNNWWRSN");
	assert_false(arm_is_asked(&a, 5));
	arm_ask(&a, 4, 0, 3); /* before it has begun: it is only longer */
	expect(&a, 3, "NNNWWRRSN");
	arm_ask(&a, 9, 12, 1); /* under way: nothing is cut */
	expect(&a, 3, "NNNWWRRRRSN");
	arm_ask(&a, 20, 15, 1); /* over when it was heard of */
	expect(&a, 20, "WWSN");
	arm_ask(&a, 30, 33, 1);
	arm_renumber(&a, 31, 131); /* what is to come comes as many steps later */
	expect(&a, 131, "NNWWSN");
}

static void test_asked_alongside_the_schedule(void **state)
{
	(void)state;
	struct arm a = recorded("wait=4,active=2,repeat=0");
	expect(&a, 0, "NNNNRSNNNNRS");
	arm_ask(&a, 3, 0, 4);
	expect(&a, 0, "NNNRRSSNNNRS");
}

static void test_late_lock_moves_the_schedule(void **state)
{
	(void)state;
	struct arm a = unlocked("skip_first=2,warmup=1,active=2,repeat=1");
	expect(&a, 0, "NNNNNNNN");
	arm_locked(&a, 9);
	assert_int_equal(a.shift, 7);
	expect(&a, 7, "NNWRSN");
	a = unlocked("skip_first=2,warmup=1,active=2,repeat=1");
	arm_locked(&a, 1);
	assert_int_equal(a.shift, 0);
	expect(&a, 0, "NNWRSN");
}

/* A window by time goes on under the steps' own numbers. */
static void test_steps_get_their_numbers(void **state)
{
	(void)state;
	struct arm a = unlocked("off");
	arm_ask(&a, 1, 0, 3);
	expect(&a, 0, "NWWRRSN");
	arm_renumber(&a, 4, 104);
	expect(&a, 100, "NWWRRSN");
	a = unlocked("off");
	arm_ask(&a, 1, 0, 3);
	arm_renumber(&a, 6, 3); /* it was over */
	expect(&a, 0, "NNNNNNNN");
}

static void test_flight(void **state)
{
	(void)state;
	struct arm a = recorded("flight=5");
	expect(&a, 0, "RRRR");
	struct arm_window w = arm_ask(&a, 7, 0, 0);
	assert_int_equal(w.first, 7);
	assert_int_equal(w.n, 0);
	w = arm_ask(&a, 8, 0, 3);
	assert_int_equal(w.n, 3);
	expect(&a, 6, "RRRRRR");
	a = recorded("flight=5,skip_first=3,active=2");
	expect(&a, 0, "NNNRRR");
	assert_false(arm_is_flying(&a, 2));
	assert_true(arm_is_flying(&a, 3));
	assert_int_equal(arm_ask(&a, 4, 0, 0).n, 2);
}

/* Nobody is kept waiting: steps of a flight are not moved by a late lock. */
static void test_flight_is_not_moved(void **state)
{
	(void)state;
	struct arm a = unlocked("flight=5,skip_first=3");
	expect(&a, 0, "NNNNNN");
	arm_locked(&a, 9);
	assert_int_equal(a.shift, 0);
	expect(&a, 9, "RRR");
}

/* Training behind an evaluation, in several ranks. */
static void test_held_until_all_begin_anew(void **state)
{
	(void)state;
	struct arm a = recorded("skip_first=2,warmup=1,active=2,repeat=1");
	arm_hold(&a);
	expect(&a, 0, "NNNNNN");
	arm_locked(&a, 10);
	expect(&a, 8, "NNWRSN");
	/* who asks gets steps meanwhile */
	arm_hold(&a);
	arm_ask(&a, 20, 0, 1);
	expect(&a, 19, "NWSN");
	a = recorded("flight=3,skip_first=2");
	arm_hold(&a);
	expect(&a, 0, "NNRRRR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedule_alone),
		cmocka_unit_test(test_asked_when_the_schedule_is_over),
		cmocka_unit_test(test_skipped_steps_cost_no_window),
		cmocka_unit_test(test_asked_of_a_schedule_without_numbers),
		cmocka_unit_test(test_asked_again_while_a_window_lasts),
		cmocka_unit_test(test_asked_from_a_step_on),
		cmocka_unit_test(test_asked_alongside_the_schedule),
		cmocka_unit_test(test_late_lock_moves_the_schedule),
		cmocka_unit_test(test_steps_get_their_numbers),
		cmocka_unit_test(test_flight),
		cmocka_unit_test(test_flight_is_not_moved),
		cmocka_unit_test(test_held_until_all_begin_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
