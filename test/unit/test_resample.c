/* Intervals of savings from the savings of single steps. */
#include "core/verdict/resample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { STEPS = 64 };

static double wide[STEPS], even[STEPS];

static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < STEPS; i++) {
		even[i] = 2;
		wide[i] = i % 2 ? 3 : 1;
	}
	return 0;
}

static double width(const double *steps, uint32_t n)
{
	struct resampled r = { .steps = steps, .value = 2 };
	double low, high;
	resample(&r, 1, n);
	resampled_interval(&r, &low, &high);
	assert_true(low <= 2 && high >= 2);
	return high - low;
}

static void equal_steps_leave_the_error_of_the_replay(void **state)
{
	(void)state;
	/* 2 x 1.96 standard deviations of 10 % */
	assert_true(fabs(width(even, STEPS) - 2 * 2 * 1.96 * 0.1) < 0.06);
	assert_true(fabs(width(even, 2) - width(even, STEPS)) < 0.06);
}

static void steps_that_differ_widen_it(void **state)
{
	(void)state;
	assert_true(width(wide, STEPS) > 1.1 * width(even, STEPS));
	assert_true(width(wide, STEPS) < 1.6 * width(even, STEPS));
}

/* But not beyond the range of the steps. */
static void few_steps_say_little(void **state)
{
	(void)state;
	assert_true(width(wide, 4) > 2 * width(wide, STEPS));
	assert_true(width(wide, 2) > width(wide, STEPS));
	assert_true(width(wide, 2) < 1.5 * (3 - 1));
}

/* What more steps would give is about what they give. */
static void the_width_of_more_steps_is_foreseen(void **state)
{
	struct resampled r = { .steps = wide, .value = 2 };
	(void)state;
	resample(&r, 1, 8);
	double half = resampled_half_width(&r, 8, STEPS);
	assert_true(fabs(2 * half - width(wide, STEPS)) < 0.1);
	assert_true(resampled_half_width(&r, 8, 8) > 1.3 * half);
}

static void the_same_steps_give_the_same_interval(void **state)
{
	struct resampled a = { .steps = wide, .value = 2 }, b = a;
	(void)state;
	resample(&a, 1, STEPS);
	resample(&b, 1, STEPS);
	assert_memory_equal(a.means, b.means, sizeof(a.means));
}

/* The same steps are drawn for all savings, so savings of equal steps stay close to each other. */
static void savings_are_drawn_together(void **state)
{
	static double opposite[STEPS];
	struct resampled of[] = { { .steps = wide, .value = 2 },
				  { .steps = wide, .value = 2 },
				  { .steps = opposite, .value = 2 } };
	double same = 0, other = 0;
	(void)state;
	for (int i = 0; i < STEPS; i++)
		opposite[i] = 4 - wide[i];
	resample(of, 3, 4);
	for (int k = 0; k < RESAMPLED; k++) {
		same += fabs((double)(of[0].means[k] - of[1].means[k])) / RESAMPLED;
		other += fabs((double)(of[0].means[k] - of[2].means[k])) / RESAMPLED;
	}
	assert_true(other > 3 * same);
}

/* Other load on the machine makes the savings of CPU time uncertain, but not those of the larger
 * part smaller than those of a part that is a hundred times smaller. */
static void load_does_not_hide_what_is_far_larger(void **state)
{
	struct resampled of[] = { { .steps = even, .value = 100, .run_error = 0.6 },
				  { .steps = even, .value = 1, .run_error = 0.6 } };
	double low, high;
	(void)state;
	resample(of, 2, STEPS);
	for (int k = 0; k < RESAMPLED; k++)
		assert_true(of[0].means[k] > of[1].means[k]);
	resampled_interval(&of[0], &low, &high);
	assert_true(low > 20 && low < 50 && high > 200 && high < 500);
	of[0].limit = 150;
	resample(of, 1, STEPS);
	resampled_interval(&of[0], &low, &high);
	assert_true(low > 20 && high <= 150);
}

/* Work that goes on in the next step moves savings from one step to the other. */
static void savings_that_move_between_steps_are_none(void **state)
{
	static double moved[STEPS];
	struct resampled r = { .steps = moved, .value = 0.01 };
	double low, high;
	(void)state;
	for (int i = 0; i < STEPS; i++)
		moved[i] = i == 7 ? 3.1 : i == 8 ? -3 : 0.01;
	resample(&r, 1, STEPS);
	resampled_interval(&r, &low, &high);
	assert_true(low >= 0 && high < 0.3);
}

static void no_savings_have_no_interval(void **state)
{
	static const double none[4];
	struct resampled r = { .steps = none, .value = 0 };
	double low, high;
	(void)state;
	resample(&r, 1, 4);
	resampled_interval(&r, &low, &high);
	assert_true(fabs(low) < 1e-12 && fabs(high) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_steps_leave_the_error_of_the_replay),
		cmocka_unit_test(steps_that_differ_widen_it),
		cmocka_unit_test(few_steps_say_little),
		cmocka_unit_test(the_width_of_more_steps_is_foreseen),
		cmocka_unit_test(the_same_steps_give_the_same_interval),
		cmocka_unit_test(savings_are_drawn_together),
		cmocka_unit_test(load_does_not_hide_what_is_far_larger),
		cmocka_unit_test(savings_that_move_between_steps_are_none),
		cmocka_unit_test(no_savings_have_no_interval),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
