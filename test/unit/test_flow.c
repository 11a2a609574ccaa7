/*
 * Control flow and natural loops, on graphs written by hand and, against a slow and simple way to
 * find loops, on random ones. One instruction lies at each multiple of 4; "row" is its index.
 */
#include "core/flow/flow.h"
#include "core/util/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

enum { NOWHERE = -1, ROWS_MOST = 64 };

/* What a row does: JUMP never goes on to the next row, a BRANCH may. */
#define STEP	   ((struct row){ NOWHERE, true, false })
#define CHECK(to)  ((struct row){ to, true, true })
#define BRANCH(to) ((struct row){ to, true, false })
#define JUMP(to)   ((struct row){ to, false, false })
#define END	   ((struct row){ NOWHERE, false, false })

struct row {
	int to;
	bool falls_through, is_check;
};

static uint64_t at(int row)
{
	return 1000 + 4 * (uint64_t)row;
}

static struct flow *make(const struct row *rows, size_t n, bool is_coarse)
{
	struct flow_instruction *in = mem_zero(n * sizeof(*in));
	for (size_t i = 0; i < n; i++)
		in[i] = (struct flow_instruction){
			.at = at((int)i),
			.target = rows[i].to == NOWHERE ? FLOW_NO_TARGET : at(rows[i].to),
			.falls_through = rows[i].falls_through,
			.is_check = rows[i].is_check,
		};
	struct flow *f = flow_new(in, n, is_coarse);
	free(in);
	assert_non_null(f);
	return f;
}

#define MAKE(rows) make(rows, sizeof(rows) / sizeof(*(rows)), false)

/* Checks the places of the loops around a row, innermost first, ended by NOWHERE. */
static void check_around(const struct flow *f, int row, ...)
{
	uint32_t loops[8];
	size_t n = flow_loops_around(f, at(row), loops, 8), i = 0;
	va_list expected;
	va_start(expected, row);
	for (int header; (header = va_arg(expected, int)) != NOWHERE; i++) {
		assert_true(i < n);
		assert_int_equal(flow_loop_at(f, loops[i]), at(header));
		assert_true(i == 0 || loops[i - 1] < loops[i]);
	}
	va_end(expected);
	assert_int_equal(i, n);
}

static int common(const struct flow *f, int a, int b)
{
	int loop = flow_common_loop(f, at(a), at(b));
	assert_int_equal(loop, flow_common_loop(f, at(b), at(a)));
	return loop < 0 ? NOWHERE : (int)((flow_loop_at(f, (uint32_t)loop) - 1000) / 4);
}

static bool forward(const struct flow *f, int a, int b)
{
	return flow_is_forward(f, at(a), at(b));
}

static bool always(const struct flow *f, int inner_row, size_t n, const struct flow_site *sites)
{
	uint32_t loop;
	assert_int_equal(flow_loops_around(f, at(inner_row), &loop, 1), 1);
	return flow_is_always(f, loop, sites, n);
}

static bool always_at(const struct flow *f, int inner_row, int site)
{
	return always(f, inner_row, 1, &(struct flow_site){ at(site), false });
}

/* Returns whether the way from `site` round the loop back to it passes `other`. */
static bool between_at(const struct flow *f, int inner_row, int site, int other)
{
	uint32_t loop;
	assert_int_equal(flow_loops_around(f, at(inner_row), &loop, 1), 1);
	return flow_is_between(f, loop, at(site), &(struct flow_site){ at(other), false }, 1);
}

/* In each iteration, an if without an else: one row before the test, two in its body, one after. */
static void what_comes_between_two_passes_of_a_place(void **state)
{
	(void)state;
	const struct row rows[] = { STEP, BRANCH(4), STEP, STEP, STEP, BRANCH(0), END };
	struct flow *f = MAKE(rows);
	assert_true(between_at(f, 0, 2, 3) && between_at(f, 0, 3, 2));	/* both in the body */
	assert_true(between_at(f, 0, 2, 0) && between_at(f, 0, 2, 4));	/* round the loop */
	assert_false(between_at(f, 0, 0, 2) || between_at(f, 0, 4, 3)); /* may be left out */
	flow_free(f);
}

static bool needs(const struct flow *f, int place, int other)
{
	return flow_call_needs(f, at(place), &(struct flow_site){ at(other), false }, 1);
}

static bool calls(const struct flow *f, int site)
{
	return flow_always_calls(f, &(struct flow_site){ at(site), false }, 1);
}

/* Rows 0 and 1, then 2 or not, 4, and an end that a branch may reach earlier. */
static void what_a_function_passes_between_two_calls_of_it(void **state)
{
	(void)state;
	const struct row rows[] = { STEP, BRANCH(3), STEP, STEP, BRANCH(6), STEP, END };
	struct flow *f = MAKE(rows);
	assert_true(needs(f, 2, 0) && needs(f, 2, 3) && needs(f, 0, 3) && needs(f, 3, 0));
	assert_false(needs(f, 0, 2) || needs(f, 3, 2) || needs(f, 3, 5));
	assert_false(flow_call_needs(f, at(0), NULL, 0));
	assert_true(calls(f, 0) && calls(f, 3));
	assert_false(calls(f, 2) || calls(f, 5));
	flow_free(f);
	/* a function without an end is not understood */
	const struct row endless[] = { STEP, BRANCH(2), STEP, JUMP(0) };
	f = MAKE(endless);
	assert_false(needs(f, 0, 2) || calls(f, 0));
	flow_free(f);
}

static void straight_code_has_no_loop(void **state)
{
	(void)state;
	const struct row rows[] = { STEP, BRANCH(3), STEP, STEP, END };
	struct flow *f = MAKE(rows);
	assert_int_equal(flow_n_loops(f), 0);
	check_around(f, 2, NOWHERE);
	assert_int_equal(common(f, 0, 3), NOWHERE);
	assert_true(forward(f, 0, 3) && forward(f, 0, 2) && forward(f, 2, 3));
	assert_false(forward(f, 3, 0));
	assert_false(forward(f, 3, 3));
	assert_false(flow_leaves(f));
	flow_free(f);
	assert_null(flow_new(NULL, 0, false));
}

/* The two branches of an if exclude each other: without a loop, neither follows the other. */
static void the_other_branch_is_not_forward(void **state)
{
	(void)state;
	const struct row rows[] = { BRANCH(3), STEP, JUMP(4), STEP, END };
	struct flow *f = MAKE(rows);
	assert_false(forward(f, 1, 3));
	assert_false(forward(f, 3, 1));
	flow_free(f);
}

static void loops_nest(void **state)
{
	(void)state;
	const struct row rows[] = {
		STEP,	   /* 0 */
		BRANCH(9), /* 1 outer loop */
		STEP,	   /* 2 */
		BRANCH(6), /* 3 inner loop */
		STEP,	   /* 4 */
		JUMP(3),   /* 5 */
		STEP,	   /* 6 */
		BRANCH(1), /* 7 */
		JUMP(1),   /* 8 */
		END,	   /* 9 */
	};
	struct flow *f = MAKE(rows);
	assert_int_equal(flow_n_loops(f), 2);
	check_around(f, 0, NOWHERE);
	check_around(f, 2, 1, NOWHERE);
	check_around(f, 4, 3, 1, NOWHERE);
	check_around(f, 6, 1, NOWHERE);
	check_around(f, 9, NOWHERE);
	assert_int_equal(common(f, 4, 6), 1);
	assert_int_equal(common(f, 4, 5), 3);
	assert_int_equal(common(f, 4, 9), NOWHERE);
	assert_true(forward(f, 2, 4) && forward(f, 4, 6) && forward(f, 0, 9) && forward(f, 4, 9));
	assert_false(forward(f, 4, 4) || forward(f, 6, 2) || forward(f, 6, 4));
	/* the inner loop's next iteration */
	assert_false(forward(f, 4, 3));
	uint32_t one;
	assert_int_equal(flow_loops_around(f, at(4), &one, 1), 1);
	assert_int_equal(flow_loop_at(f, one), at(3));
	flow_free(f);
}

/* while ... else: the else belongs to the outer loop only. */
static void the_else_of_a_loop_is_outside(void **state)
{
	(void)state;
	const struct row rows[] = {
		BRANCH(9), /* 0 outer loop */
		BRANCH(5), /* 1 while */
		STEP,	   /* 2 */
		BRANCH(6), /* 3 break, past the else */
		JUMP(1),   /* 4 */
		STEP,	   /* 5 else */
		STEP,	   /* 6 */
		JUMP(0),   /* 7 */
		STEP,	   /* 8 never reached */
		END,	   /* 9 */
	};
	struct flow *f = MAKE(rows);
	check_around(f, 2, 1, 0, NOWHERE);
	check_around(f, 5, 0, NOWHERE);
	check_around(f, 8, NOWHERE);
	assert_true(forward(f, 2, 5) && forward(f, 2, 6) && forward(f, 5, 6));
	assert_false(forward(f, 6, 5) || forward(f, 5, 2));
	/* an iteration that breaks does not pass the else */
	assert_false(always_at(f, 7, 5));
	assert_true(always_at(f, 7, 6));
	flow_free(f);
}

/* The compiler has copied the two tests of a `while` to its end; `continue` goes to the begin. */
static void a_copied_test_makes_no_second_loop(void **state)
{
	(void)state;
	const struct row rows[] = {
		BRANCH(9), /* 0 loop, first test */
		BRANCH(9), /* 1 second test */
		STEP,	   /* 2 body */
		BRANCH(6), /* 3 */
		STEP,	   /* 4 */
		JUMP(0),   /* 5 continue */
		STEP,	   /* 6 */
		BRANCH(9), /* 7 first test again */
		BRANCH(2), /* 8 second test again */
		END,	   /* 9 */
	};
	struct flow *f = MAKE(rows);
	flow_join_copied_tests(f);
	check_around(f, 4, 0, NOWHERE);
	check_around(f, 6, 0, NOWHERE);
	assert_true(forward(f, 2, 4) && forward(f, 2, 6));
	assert_false(forward(f, 6, 2) || forward(f, 4, 2) || forward(f, 4, 6));
	flow_free(f);
}

/* The same code, but the first test leads to other code that is in the loop, too. */
static void a_do_within_a_while_is_a_loop_of_its_own(void **state)
{
	(void)state;
	const struct row rows[] = {
		BRANCH(9), /* 0 outer loop */
		STEP,	   /* 1 inner loop */
		BRANCH(5), /* 2 */
		STEP,	   /* 3 */
		JUMP(0),   /* 4 */
		STEP,	   /* 5 */
		BRANCH(1), /* 6 */
		STEP,	   /* 7 */
		JUMP(0),   /* 8 */
		END,	   /* 9 */
	};
	struct flow *f = MAKE(rows);
	flow_join_copied_tests(f);
	check_around(f, 5, 1, 0, NOWHERE);
	check_around(f, 7, 0, NOWHERE);
	flow_free(f);
}

/* A `for` at the begin of a `while`, both inside a `with`. Each row may raise. */
static void a_handler_is_no_test(void **state)
{
	enum { HANDLER = 6, ROWS };
	(void)state;
	const struct row rows[ROWS] = {
		STEP,	   /* 0 */
		STEP,	   /* 1 outer loop */
		BRANCH(4), /* 2 inner loop */
		JUMP(2),   /* 3 */
		BRANCH(1), /* 4 */
		END,	   /* 5 */
		END,	   /* 6 */
	};
	struct flow_instruction in[ROWS];
	for (int i = 0; i < ROWS; i++)
		in[i] = (struct flow_instruction){
			.at = at(i),
			.target = rows[i].to == NOWHERE ? FLOW_NO_TARGET : at(rows[i].to),
			.falls_through = rows[i].falls_through,
			.handler = i < HANDLER ? at(HANDLER) : 0,
		};
	struct flow *f = flow_new(in, ROWS, false);
	assert_non_null(f);
	flow_join_copied_tests(f);
	check_around(f, 3, 2, 1, NOWHERE);
	check_around(f, 4, 1, NOWHERE);
	flow_free(f);
}

static void break_leaves_and_continue_begins_anew(void **state)
{
	(void)state;
	const struct row rows[] = {
		BRANCH(8), /* 0 loop */
		STEP,	   /* 1 */
		BRANCH(0), /* 2 continue */
		STEP,	   /* 3 */
		BRANCH(7), /* 4 break, after a call */
		STEP,	   /* 5 */
		JUMP(0),   /* 6 */
		STEP,	   /* 7 only after the break */
		END,	   /* 8 */
	};
	struct flow *f = MAKE(rows);
	assert_int_equal(flow_n_loops(f), 1); /* two back edges, one header */
	check_around(f, 5, 0, NOWHERE);
	check_around(f, 7, NOWHERE);
	assert_true(forward(f, 1, 5) && forward(f, 5, 7) && forward(f, 1, 7));
	assert_false(forward(f, 5, 1));
	assert_true(always_at(f, 1, 1));
	assert_false(always_at(f, 1, 3)); /* not if it continues */
	flow_free(f);
}

static void two_branches_together_are_always_passed(void **state)
{
	(void)state;
	const struct row rows[] = { STEP, BRANCH(4), STEP, JUMP(5), STEP, BRANCH(0), END };
	struct flow *f = MAKE(rows);
	const struct flow_site sites[] = { { at(2), false }, { at(4), false } };
	assert_true(always(f, 0, 2, sites));
	assert_false(always(f, 0, 1, sites));
	assert_false(always(f, 0, 1, sites + 1));
	assert_false(always(f, 0, 0, NULL));
	flow_free(f);
}

static void a_launch_counts_from_its_tests_on(void **state)
{
	(void)state;
	/* two checks one after the other; both skip the launch at row 4 */
	const struct row rows[] = { STEP, CHECK(5), STEP, CHECK(5), STEP, BRANCH(0), END };
	struct flow *f = MAKE(rows);
	assert_false(always_at(f, 0, 4));
	assert_true(always(f, 0, 1, &(struct flow_site){ at(4), true }));
	flow_free(f);
	/* a branch that is no check: the launch is in an if of the program */
	const struct row conditional[] = { STEP, BRANCH(5), STEP, CHECK(5), STEP, BRANCH(0), END };
	f = MAKE(conditional);
	assert_false(always(f, 0, 1, &(struct flow_site){ at(4), true }));
	flow_free(f);
}

/* The tests of a launch never lead out of the loop: those before the loop are not its own. */
static void a_check_before_the_loop_is_not_the_launchs(void **state)
{
	(void)state;
	const struct row rows[] = { CHECK(6), STEP, BRANCH(4), STEP, STEP, BRANCH(1), END };
	struct flow *f = MAKE(rows);
	assert_false(always(f, 1, 1, &(struct flow_site){ at(3), true }));
	assert_true(always(f, 1, 1, &(struct flow_site){ at(1), true }));
	flow_free(f);
}

static void a_cycle_with_two_entries_is_no_loop(void **state)
{
	(void)state;
	const struct row rows[] = { BRANCH(3), STEP, STEP, STEP, BRANCH(1), END };
	struct flow *f = MAKE(rows);
	assert_int_equal(flow_n_loops(f), 0);
	assert_true(forward(f, 1, 3) && forward(f, 3, 1));
	flow_free(f);
}

/* A loop around a cycle with two entries is a loop all the same. */
static void a_loop_may_contain_such_a_cycle(void **state)
{
	(void)state;
	const struct row rows[] = { STEP, BRANCH(3), STEP, STEP, BRANCH(2), BRANCH(0), END };
	struct flow *f = MAKE(rows);
	assert_int_equal(flow_n_loops(f), 1);
	check_around(f, 2, 0, NOWHERE);
	check_around(f, 3, 0, NOWHERE);
	assert_false(forward(f, 4, 0));
	flow_free(f);
}

static void a_body_may_be_one_instruction(void **state)
{
	(void)state;
	const struct row rows[] = { STEP, BRANCH(1), STEP, END };
	struct flow *f = MAKE(rows);
	assert_int_equal(flow_n_loops(f), 1);
	check_around(f, 0, NOWHERE);
	check_around(f, 1, 1, NOWHERE);
	check_around(f, 2, NOWHERE);
	assert_false(forward(f, 1, 1));
	assert_true(forward(f, 0, 2) && forward(f, 1, 2));
	assert_true(always_at(f, 1, 1));
	flow_free(f);
}

static void the_entry_may_be_a_header(void **state)
{
	(void)state;
	const struct row rows[] = { JUMP(0) };
	struct flow *f = MAKE(rows);
	assert_int_equal(flow_n_loops(f), 1);
	check_around(f, 0, 0, NOWHERE);
	flow_free(f);
}

static void unreached_code_is_in_no_loop(void **state)
{
	(void)state;
	/* rows 3 to 5 jump into the loop, and among themselves, but nothing leads to them */
	const struct row rows[] = { STEP, BRANCH(0), END, STEP, BRANCH(3), JUMP(1) };
	struct flow *f = MAKE(rows);
	assert_int_equal(flow_n_loops(f), 1);
	check_around(f, 0, 0, NOWHERE);
	check_around(f, 1, 0, NOWHERE);
	check_around(f, 4, NOWHERE);
	assert_int_equal(common(f, 0, 4), NOWHERE);
	assert_false(forward(f, 0, 4));
	flow_free(f);
}

/* A place within an instruction belongs to it: a return address minus one is such a place. */
static void places_within_instructions_count(void **state)
{
	(void)state;
	const struct row rows[] = { STEP, STEP, BRANCH(1), END };
	struct flow *f = MAKE(rows);
	uint32_t loop;
	assert_int_equal(flow_loops_around(f, at(0) + 3, &loop, 1), 0);
	assert_int_equal(flow_loops_around(f, at(2) + 3, &loop, 1), 1);
	assert_true(flow_is_forward(f, at(1) + 3, at(2) + 3));
	assert_int_equal(flow_loops_around(f, 0, &loop, 1), 0);
	flow_free(f);
}

static void jumps_elsewhere_leave(void **state)
{
	(void)state;
	const struct flow_instruction in[] = {
		{ .at = 16, .target = 4096, .falls_through = true, .leaves = true },
		{ .at = 18, .target = 17, .falls_through = true }, /* into an instruction */
		{ .at = 20, .target = FLOW_NO_TARGET },
	};
	struct flow *f = flow_new(in, 3, false);
	assert_true(flow_leaves(f));
	assert_int_equal(flow_n_loops(f), 0);
	assert_true(flow_is_forward(f, 16, 20));
	flow_free(f);
}

static void a_coarse_function_is_one_loop(void **state)
{
	(void)state;
	const struct row rows[] = {
		STEP,	   /* 0 */
		STEP,	   /* 1 outer loop */
		BRANCH(2), /* 2 inner loop */
		BRANCH(5), /* 3 */
		STEP,	   /* 4 */
		BRANCH(1), /* 5 */
		STEP,	   /* 6 */
		STEP,	   /* 7 second loop */
		BRANCH(7), /* 8 */
		END,	   /* 9 */
	};
	struct flow *f = make(rows, 10, true);
	assert_int_equal(flow_n_loops(f), 1);
	check_around(f, 0, NOWHERE);
	check_around(f, 2, 1, NOWHERE);
	check_around(f, 8, 1, NOWHERE);
	assert_int_equal(common(f, 2, 8), 1);
	assert_int_equal(common(f, 2, 6), NOWHERE);
	assert_false(forward(f, 1, 4) || forward(f, 1, 8));
	assert_true(forward(f, 7, 8)); /* within one block */
	assert_true(forward(f, 2, 6) && forward(f, 0, 2));
	assert_true(always_at(f, 2, 1) && always_at(f, 8, 7));
	assert_false(always_at(f, 2, 4) || always_at(f, 2, 6));
	flow_free(f);
}

/* ---- Random graphs ---- */

/* Reachability of rows by one edge or more, without passing through the row `wall`. */
static void reach(const struct row *rows, int n, int from, int wall, bool *out)
{
	int todo[ROWS_MOST], depth = 0;
	memset(out, 0, ROWS_MOST);
	todo[depth++] = from;
	while (depth > 0) {
		int i = todo[--depth];
		int next[2] = { rows[i].falls_through && i + 1 < n ? i + 1 : NOWHERE, rows[i].to };
		for (int k = 0; k < 2; k++) {
			if (next[k] == NOWHERE || next[k] == wall || out[next[k]])
				continue;
			out[next[k]] = true;
			todo[depth++] = next[k];
		}
	}
}

static bool is_edge(const struct row *rows, int n, int from, int to)
{
	return rows[from].to == to || (rows[from].falls_through && from + 1 < n && from + 1 == to);
}

/* in_loop[h][r]: row r is in the natural loop with header h, by the definition. */
static void slow_loops(const struct row *rows, int n, bool (*in_loop)[ROWS_MOST])
{
	bool is_reached[ROWS_MOST], without[ROWS_MOST], from[ROWS_MOST];
	memset(in_loop, 0, ROWS_MOST * sizeof(*in_loop));
	reach(rows, n, 0, NOWHERE, is_reached);
	is_reached[0] = true;
	for (int h = 0; h < n; h++) {
		if (!is_reached[h])
			continue;
		memset(without, 0, sizeof(without));
		if (h)
			reach(rows, n, 0, h, without), without[0] = true;
		for (int latch = 0; latch < n; latch++) {
			if (!is_reached[latch] || without[latch] || !is_edge(rows, n, latch, h))
				continue;
			in_loop[h][h] = true;
			for (int r = 0; r < n; r++) {
				reach(rows, n, r, h, from);
				in_loop[h][r] |= is_reached[r] && r != h &&
						 (r == latch || from[latch]);
			}
		}
	}
}

/* Returns whether the row is the first one of its block. */
static bool begins_block(const struct row *rows, int n, int row)
{
	bool begins = row == 0 || rows[row - 1].to != NOWHERE || !rows[row - 1].falls_through;
	for (int i = 0; i < n; i++)
		begins |= rows[i].to == row;
	return begins;
}

static void compare(const struct flow *f, const struct row *rows, int n)
{
	bool in_loop[ROWS_MOST][ROWS_MOST], seen[ROWS_MOST];
	slow_loops(rows, n, in_loop);
	for (int r = 0; r < n; r++) {
		uint32_t loops[ROWS_MOST];
		size_t count = flow_loops_around(f, at(r), loops, ROWS_MOST), expected = 0;
		for (int h = 0; h < n; h++)
			expected += in_loop[h][r];
		assert_int_equal(count, expected);
		for (size_t i = 0; i < count; i++)
			assert_true(in_loop[(flow_loop_at(f, loops[i]) - 1000) / 4][r]);
		for (int q = 0; q < n; q++) {
			int header = common(f, r, q);
			assert_true(header == NOWHERE ||
				    (in_loop[header][r] && in_loop[header][q]));
			if (!begins_block(rows, n, r) || !begins_block(rows, n, q) || q == r)
				continue;
			reach(rows, n, r, header, seen);
			assert_int_equal(forward(f, r, q), seen[q]);
		}
	}
}

static void random_graphs_have_the_loops_of_the_definition(void **state)
{
	(void)state;
	uint32_t seed = 1;
	size_t n_loops = 0;
	for (int round = 0; round < 1500; round++) {
		struct row rows[ROWS_MOST];
		int n = 0, most = 2 + round % 24;
		for (; n < most; n++) {
			seed = seed * 1664525 + 1013904223;
			uint32_t kind = seed >> 24, to = (seed >> 8) % (uint32_t)most;
			rows[n] = kind < 90    ? STEP
				  : kind < 210 ? BRANCH((int)to)
				  : kind < 250 ? JUMP((int)to)
					       : END;
		}
		struct flow *f = make(rows, (size_t)n, false);
		n_loops += flow_n_loops(f);
		compare(f, rows, n);
		flow_free(f);
	}
	assert_true(n_loops > 1000);
}

/* ---- Time ---- */

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds for a function of `n` rows in one of three shapes. */
static double build_s(size_t n, int shape)
{
	struct row *rows = mem_zero(n * sizeof(*rows));
	for (size_t i = 0; i + 1 < n; i++) {
		int last = (int)n - 1, here = (int)i;
		int to = shape == 0 ? last : /* if (...) goto fail; */
				 shape == 1 ? (here < last / 2 ? here + 1 : last - here)
					    :	     /* nested loops */
				 here / 1000 * 1000; /* long bodies */
		rows[i] = i % 2 && shape != 1 ? STEP : BRANCH(to);
	}
	double begin = cpu_s();
	struct flow *f = make(rows, n, false);
	double took = cpu_s() - begin;
	flow_free(f);
	free(rows);
	return took;
}

/* Quadratic algorithms would take 64 times as long for 8 times the instructions. */
static void time_grows_with_the_size(void **state)
{
	(void)state;
	for (int shape = 0; shape < 3; shape++) {
		double least = 1e9, most = 1e9;
		for (int i = 0; i < 5; i++) {
			double small = build_s(25000, shape), large = build_s(200000, shape);
			least = small < least ? small : least;
			most = large < most ? large : most;
		}
		print_message("shape %d: 25,000 in %.2f ms, 200,000 in %.2f ms\n", shape,
			      least * 1e3, most * 1e3);
		assert_true(most < 25 * least);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(straight_code_has_no_loop),
		cmocka_unit_test(what_comes_between_two_passes_of_a_place),
		cmocka_unit_test(what_a_function_passes_between_two_calls_of_it),
		cmocka_unit_test(the_other_branch_is_not_forward),
		cmocka_unit_test(loops_nest),
		cmocka_unit_test(the_else_of_a_loop_is_outside),
		cmocka_unit_test(a_copied_test_makes_no_second_loop),
		cmocka_unit_test(a_handler_is_no_test),
		cmocka_unit_test(a_do_within_a_while_is_a_loop_of_its_own),
		cmocka_unit_test(break_leaves_and_continue_begins_anew),
		cmocka_unit_test(two_branches_together_are_always_passed),
		cmocka_unit_test(a_launch_counts_from_its_tests_on),
		cmocka_unit_test(a_check_before_the_loop_is_not_the_launchs),
		cmocka_unit_test(a_cycle_with_two_entries_is_no_loop),
		cmocka_unit_test(a_loop_may_contain_such_a_cycle),
		cmocka_unit_test(a_body_may_be_one_instruction),
		cmocka_unit_test(the_entry_may_be_a_header),
		cmocka_unit_test(unreached_code_is_in_no_loop),
		cmocka_unit_test(places_within_instructions_count),
		cmocka_unit_test(jumps_elsewhere_leave),
		cmocka_unit_test(a_coarse_function_is_one_loop),
		cmocka_unit_test(random_graphs_have_the_loops_of_the_definition),
		cmocka_unit_test(time_grows_with_the_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
