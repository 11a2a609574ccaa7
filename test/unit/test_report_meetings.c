/* Who waited for whom in a collective, from the notes of several ranks. */
#include "export/report_meetings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A rank with one row of collectives and `n` meetings of communicator 9, from begin_us[i] to end_us[i], each of a group of `group`. */
static void add_member(json_t *processes, int rank, const int *begin_us, const int *end_us, int n,
		       unsigned group)
{
	struct findings f = { .n_gpu_steps = 2 };
	double gpu_ms = 0;
	for (int i = 0; i < n; i++) {
		vec_push(&f.arrivals,
			 (struct finding_arrival){ .comm = 9,
						   .sequence = (uint32_t)i + 1,
						   .begin_ns = (uint64_t)begin_us[i] * 1000,
						   .end_ns = (uint64_t)end_us[i] * 1000,
						   .gpu_ns = (uint64_t)(end_us[i] - begin_us[i]) *
							     1000 / group });
		gpu_ms += (end_us[i] - begin_us[i]) / 1e3 / f.n_gpu_steps / group;
	}
	json_t *p = json_pack("{s:i, s:[{s:f, s:f, s:n, s:n, s:n}]}", "rank", rank, "collectives",
			      "gpu_ms_per_step", gpu_ms, "bus_gb_per_s", 1.0, "bus_gb_per_s_moving",
			      "wait_ms_per_step", "last_rank");
	report_meetings_note(p, &f);
	json_array_append_new(processes, p);
	vec_free(&f.arrivals);
}

static void add_rank(json_t *processes, int rank, const int *begin_us, const int *end_us, int n)
{
	add_member(processes, rank, begin_us, end_us, n, 1);
}

static const json_t *row_of(const json_t *processes, size_t i)
{
	return json_array_get(json_object_get(json_array_get(processes, i), "collectives"), 0);
}

static double number(const json_t *row, const char *name)
{
	const json_t *value = json_object_get(row, name);
	assert_true(json_is_number(value));
	return json_number_value(value);
}

static void test_who_comes_first_waits(void **state)
{
	(void)state;
	json_t *processes = json_array();
	add_rank(processes, 4, (int[]){ 100, 500 }, (int[]){ 310, 540 }, 2);
	add_rank(processes, 5, (int[]){ 300, 530 }, (int[]){ 310, 540 }, 2);
	processes = report_meetings_join(processes);
	const json_t *first = row_of(processes, 0), *last = row_of(processes, 1);
	assert_float_equal(number(first, "wait_ms_per_step"), (0.2 + 0.03) / 2, 1e-6);
	assert_int_equal(number(first, "last_rank"), 5);
	assert_float_equal(number(last, "wait_ms_per_step"), 0, 0);
	assert_true(json_is_null(json_object_get(last, "last_rank")));
	/* 250 us in all, of which bytes moved in 20 */
	assert_float_equal(number(first, "bus_gb_per_s_moving"), 250.0 / 20, 0.01);
	assert_float_equal(number(last, "bus_gb_per_s_moving"), 1, 1e-3);
	json_decref(processes);
}

/* Two broadcasts of a group wait from 100 to 300, both in that one time. */
static void test_a_group_waits_once(void **state)
{
	(void)state;
	json_t *processes = json_array();
	add_member(processes, 0, (int[]){ 100, 100 }, (int[]){ 340, 340 }, 2, 2);
	add_member(processes, 1, (int[]){ 300, 300 }, (int[]){ 340, 340 }, 2, 2);
	processes = report_meetings_join(processes);
	const json_t *first = row_of(processes, 0);
	assert_float_equal(number(first, "wait_ms_per_step"), 0.2 / 2, 1e-6);
	assert_float_equal(number(first, "bus_gb_per_s_moving"), 240.0 / 40, 0.01);
	json_decref(processes);
}

static void test_notes_stay_with_the_process_and_out_of_the_report(void **state)
{
	(void)state;
	json_t *processes = json_array();
	add_rank(processes, 0, (int[]){ 100 }, (int[]){ 310 }, 1);
	json_t *own = json_incref(json_array_get(processes, 0));
	for (int again = 0; again < 2; again++) { /* as while a run goes on */
		json_t *all = json_array();
		json_array_append(all, own);
		add_rank(all, 1, (int[]){ 300 }, (int[]){ 310 }, 1);
		all = report_meetings_join(all);
		assert_null(json_object_get(json_array_get(all, 0), "arrivals"));
		assert_null(json_object_get(json_array_get(all, 0), "gpu_steps"));
		assert_float_equal(number(row_of(all, 0), "wait_ms_per_step"), 0.1, 1e-6);
		json_decref(all);
	}
	assert_non_null(json_object_get(own, "arrivals"));
	json_decref(own);
	json_decref(processes);
}

static void test_alone_nothing_is_known(void **state)
{
	(void)state;
	json_t *processes = json_array();
	add_rank(processes, 0, (int[]){ 100 }, (int[]){ 310 }, 1);
	processes = report_meetings_join(processes);
	assert_true(json_is_null(json_object_get(row_of(processes, 0), "wait_ms_per_step")));
	json_decref(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_comes_first_waits),
		cmocka_unit_test(test_a_group_waits_once),
		cmocka_unit_test(test_notes_stay_with_the_process_and_out_of_the_report),
		cmocka_unit_test(test_alone_nothing_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
