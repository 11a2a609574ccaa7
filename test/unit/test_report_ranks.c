/* Which rank the others wait for, from the figures that report.json has of each. */
#include "export/report_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A rank whose device idles `idle_ms` for others and has NCCL's kernels on it for `kernel_ms`. */
static void add_rank(json_t *processes, int rank, double idle_ms, double kernel_ms, double data_ms)
{
	json_array_append_new(processes,
			      json_pack("{s:i, s:i, s:{s:{s:f, s:f}}, s:[{s:f}], s:[{s:s, s:f}, "
					"{s:s, s:f}], s:[{s:s, s:f}, {s:s, s:f}], "
					"s:[{s:s, s:f}, {s:s, s:f}], s:{s:s}}",
					"rank", rank, "pid", 100 + rank, "baseline", "step_ms",
					"p50", 10.0, "p95", 11.0, "gpu", "busy_pct", 50.0, "idle",
					"cause", "collective", "ms_per_step", idle_ms, "cause",
					"input", "ms_per_step", 1.0, "kernels", "name",
					"ncclDevKernel_AllReduce", "gpu_ms_per_step", kernel_ms,
					"name", "gemm", "gpu_ms_per_step", 3.0, "phases", "name",
					"data", "host_ms_per_step", data_ms, "name", "forward",
					"host_ms_per_step", 2.0, "bound", "verdict", "gpu"));
}

static json_t *straggler_of(json_t *processes)
{
	json_t *ranks = report_ranks(processes);
	assert_non_null(ranks);
	json_t *found = json_incref(json_object_get(ranks, "straggler"));
	json_decref(ranks);
	json_decref(processes);
	return found;
}

static void test_the_last_one_does_not_wait(void **state)
{
	(void)state;
	json_t *processes = json_array();
	add_rank(processes, 2, 3, 1, 1);
	add_rank(processes, 0, 0, 5, 1);
	add_rank(processes, 1, 0.2, 0.3, 5);
	json_t *found = straggler_of(processes);
	assert_int_equal(json_integer_value(json_object_get(found, "rank")), 1);
	assert_float_equal(json_number_value(json_object_get(found, "ms_per_step")), 4,
			   1e-9); /* 4.5 in the middle of 4 and 5 */
	assert_string_equal(json_string_value(json_object_get(found, "phase")), "data");
	assert_float_equal(json_number_value(json_object_get(found, "phase_ms")), 4, 1e-9);
	json_decref(found);
}

static void test_no_phase_explains_it(void **state)
{
	(void)state;
	json_t *processes = json_array();
	add_rank(processes, 0, 4, 0, 1);
	add_rank(processes, 1, 0, 0, 1.5);
	json_t *found = straggler_of(processes);
	assert_int_equal(json_integer_value(json_object_get(found, "rank")), 1);
	assert_null(json_object_get(found, "phase"));
	json_decref(found);
}

static void test_nobody_is_waited_for(void **state)
{
	(void)state;
	json_t *processes = json_array();
	add_rank(processes, 0, 1, 0, 1);
	add_rank(processes, 1, 0.6, 0, 3);
	json_t *found = straggler_of(processes);
	assert_true(json_is_null(found));
	json_decref(found);
}

static void test_what_is_no_job_of_ranks(void **state)
{
	(void)state;
	json_t *processes = json_array();
	add_rank(processes, 0, 1, 0, 1);
	assert_null(report_ranks(processes));
	add_rank(processes, 0, 5, 0, 1); /* a second job's */
	assert_null(report_ranks(processes));
	json_decref(processes);
}

static void test_in_words(void **state)
{
	(void)state;
	char *text = NULL;
	size_t bytes;
	json_t *processes = json_array();
	add_rank(processes, 0, 4, 0, 1);
	add_rank(processes, 1, 0, 0, 5);
	json_t *root =
		json_pack("{s:o, s:o}", "ranks", report_ranks(processes), "processes", processes);
	struct textout o = { .to = open_memstream(&text, &bytes) };
	report_ranks_say_straggler(&o, root);
	report_ranks_say(&o, root);
	fclose(o.to);
	assert_non_null(strstr(text, "wait 4.000 ms a step for rank 1: its data takes 4.000 ms "
				     "longer"));
	assert_null(strstr(strstr(text, "for rank 1") + 1, "for rank 1"));
	assert_ptr_equal(report_ranks_straggler(root), json_array_get(processes, 1));
	free(text);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_one_does_not_wait),
		cmocka_unit_test(test_no_phase_explains_it),
		cmocka_unit_test(test_nobody_is_waited_for),
		cmocka_unit_test(test_what_is_no_job_of_ranks),
		cmocka_unit_test(test_in_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
