/* Who waited for whom in a collective, from the arrivals of several ranks. */
#include "export/report_json.h"
#include "export/report_meetings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/*
 * A rank with one row of collectives and `n` meetings of communicator 9, from begin_us[i] to
 * end_us[i], each of a group of `group`.
 */
static void add_member(struct report *r, int rank, const int *begin_us, const int *end_us, int n,
		       unsigned group)
{
	struct report_process *p = report_process_new();
	double gpu_ms = 0;
	p->rank = rank;
	p->n_gpu_steps = 2;
	list_make(&p->arena, &p->arrivals, (size_t)n);
	for (int i = 0; i < n; i++) {
		p->arrivals.at[i] =
			(struct report_arrival){ .comm = 9,
						 .sequence = (uint32_t)i + 1,
						 .begin_ns = (uint64_t)begin_us[i] * 1000,
						 .end_ns = (uint64_t)end_us[i] * 1000,
						 .gpu_ns = (uint64_t)(end_us[i] - begin_us[i]) *
							   1000 / group };
		gpu_ms += (end_us[i] - begin_us[i]) / 1e3 / p->n_gpu_steps / group;
	}
	list_make(&p->arena, &p->collectives, 1);
	p->collectives.at[0] = (struct report_collective){ .name = "ncclAllReduce",
							   .place = { "", -1, "" },
							   .source = "",
							   .gpu_ms = gpu_ms,
							   .bus_gb_per_s = 1,
							   .bus_gb_per_s_moving = NAN,
							   .wait_ms = NAN,
							   .last_rank = -1 };
	report_add(r, p);
}

static void add_rank(struct report *r, int rank, const int *begin_us, const int *end_us, int n)
{
	add_member(r, rank, begin_us, end_us, n, 1);
}

static const struct report_collective *row_of(const struct report *r, size_t i)
{
	return &r->processes.at[i]->collectives.at[0];
}

static void test_the_first_to_arrive_waits(void **state)
{
	struct report r;
	(void)state;
	report_start(&r);
	add_rank(&r, 4, (int[]){ 100, 500 }, (int[]){ 310, 540 }, 2);
	add_rank(&r, 5, (int[]){ 300, 530 }, (int[]){ 310, 540 }, 2);
	report_meetings_join(&r);
	assert_float_equal(row_of(&r, 0)->wait_ms, (0.2 + 0.03) / 2, 1e-6);
	assert_int_equal(row_of(&r, 0)->last_rank, 5);
	assert_float_equal(row_of(&r, 1)->wait_ms, 0, 0);
	assert_int_equal(row_of(&r, 1)->last_rank, -1);
	/* 250 us in all, of which bytes moved in 20 */
	assert_float_equal(row_of(&r, 0)->bus_gb_per_s_moving, 250.0 / 20, 0.01);
	assert_float_equal(row_of(&r, 1)->bus_gb_per_s_moving, 1, 1e-3);
	report_free(&r);
}

/* Two broadcasts of a group wait from 100 to 300, both in that one time. */
static void test_a_group_waits_once(void **state)
{
	struct report r;
	(void)state;
	report_start(&r);
	add_member(&r, 0, (int[]){ 100, 100 }, (int[]){ 340, 340 }, 2, 2);
	add_member(&r, 1, (int[]){ 300, 300 }, (int[]){ 340, 340 }, 2, 2);
	report_meetings_join(&r);
	assert_float_equal(row_of(&r, 0)->wait_ms, 0.2 / 2, 1e-6);
	assert_float_equal(row_of(&r, 0)->bus_gb_per_s_moving, 240.0 / 40, 0.01);
	report_free(&r);
}

/* As during a run: a process's part is kept, and joined with ever more others. */
static void test_joined_again_and_again(void **state)
{
	struct report first, r;
	(void)state;
	report_start(&first);
	add_rank(&first, 0, (int[]){ 100 }, (int[]){ 310 }, 1);
	for (int n = 1; n < 4; n++) {
		report_start(&r);
		report_add(&r, report_process_hold(first.processes.at[0]));
		for (int i = 1; i <= n; i++)
			add_rank(&r, i, (int[]){ 100 + 50 * n }, (int[]){ 310 }, 1);
		report_meetings_join(&r);
		assert_float_equal(row_of(&r, 0)->wait_ms, 0.05 * n / 2, 1e-6);
		json_t *o = fields_write(&report_process_fields, r.processes.at[0]);
		assert_null(json_object_get(o, "arrivals"));
		json_decref(o);
		report_free(&r);
	}
	assert_int_equal(first.processes.at[0]->arrivals.n, 1);
	report_meetings_join(&first);
	assert_true(isnan(row_of(&first, 0)->wait_ms)); /* of the last time */
	report_free(&first);
}

static void test_alone_nothing_is_known(void **state)
{
	struct report r;
	(void)state;
	report_start(&r);
	add_rank(&r, 0, (int[]){ 100 }, (int[]){ 310 }, 1);
	report_meetings_join(&r);
	assert_true(isnan(row_of(&r, 0)->wait_ms));
	report_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_to_arrive_waits),
		cmocka_unit_test(test_a_group_waits_once),
		cmocka_unit_test(test_joined_again_and_again),
		cmocka_unit_test(test_alone_nothing_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
