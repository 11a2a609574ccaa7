/* The flight recorder's ring: what is kept, what a request gets, and that it stays bounded. */
#include "core/source/process/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { STEP_NS = 1000000, CALLS = 100 };

static char written[512]; /* "5 6 7 " */

static void write_down(void *context, struct model_step *m)
{
	size_t used = strlen(written);
	(void)context;
	assert_int_equal(m->calls.n, CALLS);
	assert_int_equal(m->notes.n, 1);
	snprintf(written + used, sizeof(written) - used, "%llu ", (unsigned long long)m->number);
}

static int setup(void **state)
{
	static struct flight f;
	f = (struct flight){ .most_bytes = SIZE_MAX, .write = write_down };
	written[0] = 0;
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	flight_free(*state);
	return 0;
}

static void take(struct flight *f, uint64_t first, uint64_t last, uint64_t most_steps)
{
	for (uint64_t i = first; i <= last; i++) {
		struct model_step m = { .number = i, .begin_ns = (i + 1) * STEP_NS };
		for (int k = 0; k < CALLS; k++)
			vec_push(&m.calls, (struct model_call){ 0 });
		flight_take(f, &m, most_steps);
		model_free(&m);
	}
}

static void test_the_last_are_kept(void **state)
{
	struct flight *f = *state;
	take(f, 0, 99, 3);
	assert_string_equal(written, "");
	flight_flush(f, FLIGHT_EXIT);
	assert_string_equal(written, "97 98 99 ");
	assert_int_equal(f->kept.n, 1);
	assert_int_equal(f->kept.at[0].first, 97);
	assert_int_equal(f->kept.at[0].last, 99);
	assert_int_equal(f->bytes, 0);
	flight_flush(f, FLIGHT_EXIT);
	assert_string_equal(written, "97 98 99 ");
}

/*
 * Steps are passed on late: those that had begun by then are waited for, and later ones are not
 * included.
 */
static void test_a_request_is_for_a_moment(void **state)
{
	struct flight *f = *state;
	take(f, 0, 9, 3);
	flight_ask(f, &(struct flight_request){ .why = FLIGHT_TRIGGER, .from_ns = 13 * STEP_NS });
	take(f, 10, 11, 3);
	assert_string_equal(written, "");
	take(f, 12, 20, 3);
	assert_string_equal(written, "9 10 11 ");
	flight_flush(f, FLIGHT_CRASH);
	assert_string_equal(written, "9 10 11 18 19 20 ");
	assert_int_equal(f->kept.n, 2);
	assert_string_equal(flight_why_name(f->kept.at[0].why), "trigger");
	assert_string_equal(flight_why_name(f->kept.at[1].why), "crash");
}

/* No further step has closed, but all before the moment have. */
static void test_a_request_while_a_long_step_goes_on(void **state)
{
	struct flight *f = *state;
	take(f, 0, 9, 3);
	flight_ask(f, &(struct flight_request){ .why = FLIGHT_SLOW, .from_ns = 11 * STEP_NS });
	flight_poll(f, 10 * STEP_NS);
	assert_string_equal(written, "");
	flight_poll(f, 11 * STEP_NS - 20); /* the same ticks, converted at another time */
	assert_string_equal(written, "7 8 9 ");
}

static void test_steps_after_the_request(void **state)
{
	struct flight *f = *state;
	take(f, 0, 9, 2);
	flight_ask(f, &(struct flight_request){
			      .why = FLIGHT_SIGNAL, .from_ns = 11 * STEP_NS, .n_more = 3 });
	take(f, 10, 20, 2);
	assert_string_equal(written, "8 9 10 11 12 ");
	assert_int_equal(f->kept.n, 1);
	assert_int_equal(f->kept.at[0].n, 5);
	flight_flush(f, FLIGHT_EXIT);
	assert_string_equal(written, "8 9 10 11 12 19 20 ");
}

static void test_bounded_in_bytes(void **state)
{
	struct flight *f = *state;
	f->most_bytes = 3 * CALLS * sizeof(struct model_call) * 2;
	take(f, 0, 99, 1000);
	assert_true(f->is_short);
	assert_true(f->bytes <= f->most_bytes);
	assert_in_range(f->steps.n, 1, 6);
	flight_flush(f, FLIGHT_EXIT);
	assert_non_null(strstr(written, "99 "));
	assert_null(strstr(written, "90 "));
}

/* One step alone may be larger than that. */
static void test_one_step_always_fits(void **state)
{
	struct flight *f = *state;
	f->most_bytes = 1;
	take(f, 0, 4, 10);
	flight_flush(f, FLIGHT_EXIT);
	assert_string_equal(written, "4 ");
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(test_the_last_are_kept),
		test(test_a_request_is_for_a_moment),
		test(test_a_request_while_a_long_step_goes_on),
		test(test_steps_after_the_request),
		test(test_bounded_in_bytes),
		test(test_one_step_always_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
