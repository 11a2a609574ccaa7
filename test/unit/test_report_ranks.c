/* Which rank the others wait for, from the figures of each. */
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
static void add_rank(struct report *r, int rank, double idle_ms, double kernel_ms, double data_ms)
{
	struct report_process *p = report_process_new();
	p->rank = rank;
	p->facts.pid = 100 + rank;
	p->baseline.step_ms = arena_zero(&p->arena, sizeof(*p->baseline.step_ms));
	p->baseline.step_ms->p50 = 10;
	p->baseline.step_ms->p95 = 11;
	p->bound.verdict = "gpu";
	list_make(&p->arena, &p->gpu, 1);
	p->gpu.at[0].busy_pct = 50;
	list_make(&p->arena, &p->idle, 2);
	p->idle.at[0] = (struct report_idle){ .cause = "collective", .ms = idle_ms };
	p->idle.at[1] = (struct report_idle){ .cause = "input", .ms = 1 };
	list_make(&p->arena, &p->kernels, 2);
	p->kernels.at[0] =
		(struct report_kernel){ .name = "ncclDevKernel_AllReduce", .gpu_ms = kernel_ms };
	p->kernels.at[1] = (struct report_kernel){ .name = "gemm", .gpu_ms = 3 };
	list_make(&p->arena, &p->phases, 2);
	p->phases.at[0] = (struct report_phase){ .name = "data", .host_ms = data_ms };
	p->phases.at[1] = (struct report_phase){ .name = "forward", .host_ms = 2 };
	report_add(r, p);
}

static const struct report_straggler *straggler_of(struct report *r)
{
	report_compare(r);
	assert_non_null(r->ranks);
	return r->ranks->straggler;
}

static void test_the_last_one_does_not_wait(void **state)
{
	struct report r;
	(void)state;
	report_start(&r);
	add_rank(&r, 2, 3, 1, 1);
	add_rank(&r, 0, 0, 5, 1);
	add_rank(&r, 1, 0.2, 0.3, 5);
	const struct report_straggler *found = straggler_of(&r);
	assert_int_equal(found->rank, 1);
	assert_float_equal(found->ms, 4, 1e-9); /* 4.5 in the middle of 4 and 5 */
	assert_string_equal(found->phase, "data");
	assert_float_equal(found->phase_ms, 4, 1e-9);
	report_free(&r);
}

static void test_no_phase_explains_it(void **state)
{
	struct report r;
	(void)state;
	report_start(&r);
	add_rank(&r, 0, 4, 0, 1);
	add_rank(&r, 1, 0, 0, 1.5);
	const struct report_straggler *found = straggler_of(&r);
	assert_int_equal(found->rank, 1);
	assert_string_equal(found->phase, "");
	report_free(&r);
}

static void test_no_rank_is_waited_for(void **state)
{
	struct report r;
	(void)state;
	report_start(&r);
	add_rank(&r, 0, 1, 0, 1);
	add_rank(&r, 1, 0.6, 0, 3);
	assert_null(straggler_of(&r));
	report_free(&r);
}

static void test_what_is_no_job_of_ranks(void **state)
{
	struct report r;
	(void)state;
	report_start(&r);
	add_rank(&r, 0, 1, 0, 1);
	report_compare(&r);
	assert_null(r.ranks);
	add_rank(&r, 0, 5, 0, 1); /* a second job's */
	report_compare(&r);
	assert_null(r.ranks);
	report_free(&r);
}

static void test_in_words(void **state)
{
	struct report r;
	char *text = NULL;
	size_t bytes;
	(void)state;
	report_start(&r);
	add_rank(&r, 0, 4, 0, 1);
	add_rank(&r, 1, 0, 0, 5);
	report_compare(&r);
	struct textout o = { .to = open_memstream(&text, &bytes) };
	report_ranks_say_straggler(&o, &r);
	report_ranks_say(&o, &r);
	fclose(o.to);
	assert_non_null(strstr(text, "wait 4.000 ms per recorded step for rank 1: its data "
				     "phase is 4.000 ms\n"
				     "         longer than on the other ranks\n"));
	assert_null(strstr(strstr(text, "for rank 1") + 1, "for rank 1"));
	assert_ptr_equal(report_ranks_straggler(&r), r.processes.at[1]);
	free(text);
	r.ranks->straggler->phase = "other";
	o = (struct textout){ .to = open_memstream(&text, &bytes) };
	report_ranks_say_straggler(&o, &r);
	fclose(o.to);
	assert_non_null(strstr(text, "for rank 1: its code outside"));
	assert_null(strstr(text, "other phase"));
	free(text);
	report_free(&r);
}

/* All figures are of the recorded steps, also if these took longer than the others, and no rank
 * waits longer than a step. */
static void test_units_agree(void **state)
{
	struct report r;
	(void)state;
	report_start(&r);
	add_rank(&r, 0, 20, 15, 1);
	add_rank(&r, 1, 0, 0, 5);
	for (size_t i = 0; i < 2; i++) {
		struct report_process *p = r.processes.at[i];
		p->baseline.recorded_ms = arena_zero(&p->arena, sizeof(*p->baseline.recorded_ms));
		p->baseline.recorded_ms->mean = 25;
	}
	const struct report_straggler *found = straggler_of(&r);
	assert_float_equal(r.ranks->list.at[0].step_ms, 25, 1e-9);
	assert_float_equal(r.ranks->list.at[0].collective_ms, 25, 1e-9);
	assert_float_equal(found->ms, 25, 1e-9);
	report_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_agree),
		cmocka_unit_test(test_the_last_one_does_not_wait),
		cmocka_unit_test(test_no_phase_explains_it),
		cmocka_unit_test(test_no_rank_is_waited_for),
		cmocka_unit_test(test_what_is_no_job_of_ranks),
		cmocka_unit_test(test_in_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
