/* Which rows of two runs belong together (export/diff_match.c). */
#include "export/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ITEMS_MOST = 8 };

struct sides {
	struct diff_item of[DIFF_SIDES][ITEMS_MOST];
	size_t n[DIFF_SIDES];
	const char *cwd[DIFF_SIDES];
	struct diff_matches found;
};

static void add(struct sides *s, int side, const char *file, int line, const char *function,
		const char *text)
{
	s->of[side][s->n[side]++] =
		(struct diff_item){ .name = "", .place = { file, line, function }, .source = text };
}

static void match(struct sides *s)
{
	const diff_items items[] = { { s->of[DIFF_A], s->n[DIFF_A], ITEMS_MOST },
				     { s->of[DIFF_B], s->n[DIFF_B], ITEMS_MOST } };
	diff_match(&s->found, items, (const char *const *)s->cwd);
}

/* Returns the number of B's line that belongs to the line of A; 0: it is gone; -1: several lines
 * are one row. */
static int64_t match_of(const struct sides *s, int64_t line)
{
	for (size_t i = 0; i < s->found.at.n; i++) {
		const struct diff_match *m = &s->found.at.at[i];
		for (size_t k = 0; k < m->of[DIFF_A].n; k++) {
			if (s->of[DIFF_A][m->of[DIFF_A].at[k]].place.line != line)
				continue;
			if (m->of[DIFF_A].n > 1 || m->of[DIFF_B].n > 1)
				return -1;
			return m->of[DIFF_B].n ? s->of[DIFF_B][m->of[DIFF_B].at[0]].place.line : 0;
		}
	}
	fail();
	return 0;
}

static void a_line_with_the_same_text_has_moved(void **state)
{
	(void)state;
	struct sides s = { .cwd = { "/a", "/b" } };
	add(&s, DIFF_A, "/a/train.py", 10, "main", "x = f(x)");
	add(&s, DIFF_A, "/a/train.py", 11, "main", "y = g(x)");
	add(&s, DIFF_B, "/b/train.py", 11, "main", "x = f(x)");
	add(&s, DIFF_B, "/b/train.py", 12, "main", "y = h(x)");
	match(&s);
	assert_int_equal(match_of(&s, 10), 11);
	assert_int_equal(match_of(&s, 11), 0);
	assert_int_equal(s.found.at.n, 3);
	diff_matches_free(&s.found);
}

/* Lines 12 and 14 are not line 12 of A: both moved by two lines. */
static void equal_texts_are_paired_in_order(void **state)
{
	(void)state;
	struct sides s = { .cwd = { "/a", "/a" } };
	add(&s, DIFF_A, "/a/m.py", 12, "forward", "x = act(x)");
	add(&s, DIFF_A, "/a/m.py", 10, "forward", "x = act(x)");
	add(&s, DIFF_B, "/a/m.py", 12, "forward", "x = act(x)");
	add(&s, DIFF_B, "/a/m.py", 14, "forward", "x = act(x)");
	match(&s);
	assert_int_equal(match_of(&s, 10), 12);
	assert_int_equal(match_of(&s, 12), 14);
	diff_matches_free(&s.found);
}

static void more_lines_with_one_text_are_one_row(void **state)
{
	(void)state;
	struct sides s = { .cwd = { "/a", "/a" } };
	add(&s, DIFF_A, "/a/m.py", 10, "forward", "x = act(x)");
	add(&s, DIFF_B, "/a/m.py", 10, "forward", "x = act(x)");
	add(&s, DIFF_B, "/a/m.py", 11, "forward", "x = act(x)");
	add(&s, DIFF_A, "/a/m.py", 20, "other", "x = act(x)");
	add(&s, DIFF_B, "/a/m.py", 21, "other", "x = act(x)");
	match(&s);
	assert_int_equal(match_of(&s, 10), -1);
	assert_int_equal(match_of(&s, 20), 21);
	diff_matches_free(&s.found);
}

static void without_the_texts_of_both_the_number_decides(void **state)
{
	(void)state;
	struct sides s = { .cwd = { "/a", "/a" } };
	add(&s, DIFF_A, "/a/m.py", 10, "Net.forward", "x = act(x)");
	add(&s, DIFF_A, "/a/m.py", 11, "Net.forward", "y = act(x)");
	add(&s, DIFF_A, "/a/m.py", 30, "Net.forward", "z = act(x)");
	add(&s, DIFF_B, "/a/m.py", 11, "forward", "");
	add(&s, DIFF_B, "/a/m.py", 12, "forward", "");
	add(&s, DIFF_B, "/a/m.py", 30, "backward", "");
	match(&s);
	assert_int_equal(match_of(&s, 11), 11);
	assert_int_equal(match_of(&s, 10), 0);
	assert_int_equal(match_of(&s, 30), 0);
	diff_matches_free(&s.found);
}

static void a_file_may_lie_elsewhere(void **state)
{
	(void)state;
	struct sides s = { .cwd = { "/a", "" } };
	add(&s, DIFF_A, "/a/src/train.py", 10, "main", "");
	add(&s, DIFF_B, "train.py", 10, "main", ""); /* a tool that drops the folder */
	add(&s, DIFF_A, "/x/old/pkg/net.py", 20, "f", "");
	add(&s, DIFF_B, "/x/new/pkg/net.py", 20, "f", "");
	add(&s, DIFF_A, "/x/one/util.py", 30, "f", ""); /* only the name is the same */
	add(&s, DIFF_B, "/x/two/util.py", 30, "f", "");
	add(&s, DIFF_A, "/p/pretrain.py", 40, "main", "");
	match(&s);
	assert_int_equal(match_of(&s, 10), 10);
	assert_int_equal(match_of(&s, 20), 20);
	assert_int_equal(match_of(&s, 30), 0);
	assert_int_equal(match_of(&s, 40), 0);
	diff_matches_free(&s.found);
}

static void two_files_that_could_be_the_same_are_not(void **state)
{
	(void)state;
	struct sides s = { .cwd = { "", "" } };
	add(&s, DIFF_A, "/x/old/pkg/net.py", 20, "f", "");
	add(&s, DIFF_B, "/x/new/pkg/net.py", 20, "f", "");
	add(&s, DIFF_B, "/x/newer/pkg/net.py", 20, "f", "");
	match(&s);
	assert_int_equal(match_of(&s, 20), 0);
	diff_matches_free(&s.found);
}

static void rows_without_a_place_go_by_their_name(void **state)
{
	(void)state;
	struct sides s = { .cwd = { "", "" } };
	add(&s, DIFF_A, "", 1, "", "");
	add(&s, DIFF_B, "", 2, "", "");
	add(&s, DIFF_A, "", 3, "", "");
	s.of[DIFF_A][0].name = s.of[DIFF_B][0].name = "gemm<4>";
	s.of[DIFF_A][1].name = "gemm<8>";
	match(&s);
	assert_int_equal(match_of(&s, 1), 2);
	assert_int_equal(match_of(&s, 3), 0);
	diff_matches_free(&s.found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_with_the_same_text_has_moved),
		cmocka_unit_test(equal_texts_are_paired_in_order),
		cmocka_unit_test(more_lines_with_one_text_are_one_row),
		cmocka_unit_test(without_the_texts_of_both_the_number_decides),
		cmocka_unit_test(a_file_may_lie_elsewhere),
		cmocka_unit_test(two_files_that_could_be_the_same_are_not),
		cmocka_unit_test(rows_without_a_place_go_by_their_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
