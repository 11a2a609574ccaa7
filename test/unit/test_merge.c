/* How the clocks of machines are found to differ, and who comes last to a collective. */
#include "export/merge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEETINGS = 200, PERIOD_NS = 1000000, LENGTH_NS = 100000 };

static const uint64_t start_ns = 5000000000000;

static uint64_t random_state;

/* Up to 2 us, mostly less: how late a kernel ends. */
static uint64_t scatter_ns(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state >> 33 & 2047;
}

static size_t add_clock(struct merge *m, const char *host, int64_t wall_ns)
{
	vec_push(&m->clocks, (struct merge_clock){ .host = host, .wall_ns = wall_ns });
	return m->clocks.n - 1;
}

static struct merge_rank *add_rank(struct merge *m, size_t clock)
{
	vec_push(&m->ranks, (struct merge_rank){ .rank = (int64_t)m->ranks.n,
						 .clock = clock,
						 .first_ns = start_ns,
						 .n_steps = 10 });
	return &m->ranks.at[m->ranks.n - 1];
}

/* Adds the collectives of one communicator. `ahead_ns` and `ppm`: how the rank's clock differs. */
static void meet(struct merge_rank *r, uint64_t comm, int64_t ahead_ns, double ppm)
{
	for (uint64_t i = 0; i < MEETINGS; i++) {
		uint64_t end_ns = start_ns + i * PERIOD_NS + LENGTH_NS + scatter_ns();
		end_ns += (uint64_t)(ahead_ns + (int64_t)(ppm * 1e-6 * (double)(i * PERIOD_NS)));
		vec_push(&r->arrivals, (struct merge_arrival){ .key = comm << 32 | i,
							       .begin_ns = end_ns - LENGTH_NS,
							       .end_ns = end_ns });
	}
}

static void shifts_are_found_from_the_ends_of_collectives(void **state)
{
	(void)state;
	struct merge m = { 0 };
	const int64_t ahead_ns = -123456789;
	random_state = 1;
	/* the wall clocks are 40 ms wrong */
	meet(add_rank(&m, add_clock(&m, "a", 1000)), 7, 0, 0);
	meet(add_rank(&m, add_clock(&m, "b", 1000 - ahead_ns + 40000000)), 7, ahead_ns, 0);
	merge_align(&m);
	assert_int_equal(m.clocks.at[0].method, MERGE_REFERENCE);
	const struct merge_clock *c = &m.clocks.at[1];
	assert_int_equal(c->method, MERGE_COLLECTIVES);
	assert_int_equal(c->n_matched, MEETINGS);
	assert_true(llabs(c->shift_ns + ahead_ns) < 300);
	assert_true(c->error_ns > 500 && c->error_ns < 2048);
	assert_true(c->drift == 0);
	merge_free(&m);
}

static void drift_is_found(void **state)
{
	(void)state;
	struct merge m = { 0 };
	random_state = 2;
	meet(add_rank(&m, add_clock(&m, "a", 0)), 7, 0, 0);
	struct merge_rank *r = add_rank(&m, add_clock(&m, "b", 0));
	meet(r, 7, 5000, 100);
	merge_align(&m);
	assert_true(fabs(m.clocks.at[1].drift + 100e-6) < 5e-6);
	r = &m.ranks.at[1];
	for (int i = 0; i < MEETINGS; i += 50) {   /* 20 us of drift over all */
		int64_t ahead_ns = 5000 + 100 * i; /* 100 ppm of PERIOD_NS are 100 ns */
		int64_t shift = merge_shift(&m, r, start_ns + (uint64_t)i * PERIOD_NS);
		assert_true(llabs(shift + ahead_ns) < 1000);
	}
	merge_free(&m);
}

/* Rank 2 shares no communicator with rank 0, but with rank 1. */
static void clocks_are_found_over_others(void **state)
{
	(void)state;
	struct merge m = { 0 };
	random_state = 3;
	meet(add_rank(&m, add_clock(&m, "a", 0)), 7, 0, 0);
	meet(add_rank(&m, add_clock(&m, "b", 0)), 7, 1000000, 0);
	meet(&m.ranks.at[1], 8, 1000000, 0);
	meet(add_rank(&m, add_clock(&m, "c", 0)), 8, -3000000, 0);
	merge_align(&m);
	assert_int_equal(m.clocks.at[2].method, MERGE_COLLECTIVES);
	assert_true(llabs(m.clocks.at[2].shift_ns - 3000000) < 1000);
	merge_free(&m);
}

static void without_a_collective_the_wall_clock_decides(void **state)
{
	(void)state;
	struct merge m = { 0 };
	meet(add_rank(&m, add_clock(&m, "a", 100)), 7, 0, 0);
	meet(add_rank(&m, add_clock(&m, "b", 900)), 8, 0, 0);
	merge_align(&m);
	assert_int_equal(m.clocks.at[1].method, MERGE_WALL);
	assert_int_equal(m.clocks.at[1].shift_ns, 800);
	assert_true(isnan(m.clocks.at[1].error_ns));
	assert_int_equal(merge_shift(&m, &m.ranks.at[1], start_ns), 800);
	merge_free(&m);
}

/* Traces of torch.profiler count from a time of their own. */
static void each_trace_may_have_its_own_zero(void **state)
{
	(void)state;
	struct merge m = { 0 };
	size_t clock = add_clock(&m, "a", 0);
	m.clocks.at[0].is_wall = true;
	add_rank(&m, clock)->to_clock_ns = 1700000000000000000;
	add_rank(&m, clock)->to_clock_ns = 1700000000000000000 - 7000000000;
	merge_align(&m);
	assert_int_equal(merge_shift(&m, &m.ranks.at[0], start_ns), 0);
	assert_int_equal(merge_shift(&m, &m.ranks.at[1], start_ns), -7000000000);
	assert_int_equal(merge_earliest(&m), 1);
	merge_free(&m);
}

/* ---- Who comes last ---- */

static void arrive(struct merge_rank *r, uint64_t key, uint64_t begin_ns, uint64_t end_ns,
		   uint32_t place, uint32_t before)
{
	vec_push(&r->arrivals, (struct merge_arrival){ .key = key,
						       .begin_ns = begin_ns,
						       .end_ns = end_ns,
						       .name = 1,
						       .place = place,
						       .before = before });
}

static void the_rank_that_the_others_wait_for_is_named(void **state)
{
	(void)state;
	struct merge m = { 0 };
	merge_rows rows = { 0 };
	size_t clock = add_clock(&m, "a", 0);
	for (int i = 0; i < 3; i++)
		add_rank(&m, clock);
	for (uint64_t i = 0; i < 4; i++) { /* rank 2 comes 30 later than rank 0, 20 than rank 1 */
		arrive(&m.ranks.at[0], i, i * 1000, i * 1000 + 50, 5, 1);
		arrive(&m.ranks.at[1], i, i * 1000 + 10, i * 1000 + 50, 5, 2);
		arrive(&m.ranks.at[2], i, i * 1000 + 30, i * 1000 + 50, 5, i ? 3 : 4);
	}
	arrive(&m.ranks.at[0], 77, 0, 10, 6, 0); /* nobody else */
	arrive(&m.ranks.at[0], 78, 5, 10, 7, 9); /* rank 1's kernel had ended before: no wait */
	arrive(&m.ranks.at[1], 78, 0, 2, 7, 0);
	merge_align(&m);
	merge_meet(&rows, &m);
	assert_int_equal(rows.n, 2);
	assert_int_equal(rows.at[0].place, 5);
	assert_int_equal(rows.at[0].n, 4);
	assert_int_equal(rows.at[0].n_ranks, 3);
	assert_int_equal(rows.at[0].last, 2);
	assert_int_equal(rows.at[0].before, 3);
	assert_float_equal(rows.at[0].wait_ns, 4 * (30 + 20) / 2, 1e-9);
	assert_float_equal(rows.at[0].last_ns, rows.at[0].wait_ns, 1e-9);
	assert_int_equal(rows.at[1].place, 7);
	assert_float_equal(rows.at[1].wait_ns, 2, 1e-9);
	vec_free(&rows);
	merge_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shifts_are_found_from_the_ends_of_collectives),
		cmocka_unit_test(drift_is_found),
		cmocka_unit_test(clocks_are_found_over_others),
		cmocka_unit_test(without_a_collective_the_wall_clock_decides),
		cmocka_unit_test(each_trace_may_have_its_own_zero),
		cmocka_unit_test(the_rank_that_the_others_wait_for_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
