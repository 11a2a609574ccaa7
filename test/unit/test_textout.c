/* Texts and tables that fit on a screen: what is cut, and where. */
#include "export/textout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct textout open_text(char **text, size_t *bytes)
{
	struct textout o = { .to = open_memstream(text, bytes) };
	assert_non_null(o.to);
	return o;
}

/* ---- Fitting ---- */

static const char *fit(const char *text, size_t columns, enum text_cut cut)
{
	static char to[TEXT_BYTES];
	return text_fit(to, sizeof(to), text, columns, cut);
}

static void test_what_fits_stays(void **state)
{
	(void)state;
	assert_string_equal(fit("train.py:42", 11, CUT_HEAD), "train.py:42");
	assert_string_equal(fit("", 4, CUT_TAIL), "");
}

static void test_cut_where_it_hurts_least(void **state)
{
	(void)state;
	assert_string_equal(fit("a long sentence here", 12, CUT_TAIL), "a long se...");
	assert_string_equal(fit("some/deep/folder/train.py:42", 14, CUT_HEAD), "...train.py:42");
	assert_string_equal(fit("void kernel<float, 4>(int)", 13, CUT_MIDDLE), "void ...(int)");
}

static void test_columns_are_counted_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(text_width("größe"), 5);
	assert_int_equal(text_width("損失"), 4);
	assert_string_equal(fit("größer als der Schirm", 9, CUT_TAIL), "größer...");
	assert_int_equal(text_width(fit("損失損失損失損失損失", 9, CUT_MIDDLE)) <= 9, 1);
	assert_int_equal(text_width(fit("損失損失損失損失損失", 9, CUT_HEAD)) <= 9, 1);
}

static void test_control_characters_are_cleaned(void **state)
{
	(void)state;
	assert_string_equal(fit("a\tb\033[31mred\xff", 40, CUT_TAIL), "a b?[31mred?");
}

static void test_wrapped_words(void **state)
{
	char *text;
	size_t bytes;
	(void)state;
	struct textout o = open_text(&text, &bytes);
	text_wrap(&o, TEXT_PLAIN, "  - ",
		  "the first line of this text ends before the screen does, and what follows it "
		  "comes below, as far in",
		  3);
	fclose(o.to);
	assert_string_equal(text, "  - the first line of this text ends before the screen does, "
				  "and what follows it\n"
				  "    comes below, as far in\n");
	assert_int_equal(o.n_lines, 2);
	free(text);
}

static void test_a_number_and_its_unit_stay_together(void **state)
{
	static const struct {
		const char *number, *wrapped;
	} cases[] = {
		{ "45 %)", "\n45 %)\n" },
		{ "1.5 ms, more", "\n1.5 ms, more\n" },
		{ "45 kernels", " 45\nkernels\n" },
	};
	char fill[100], *text;
	size_t bytes;
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct textout o = open_text(&text, &bytes);
		/* the first line ends between the number and the word after it */
		size_t n = TEXT_COLUMNS - strcspn(cases[i].number, " ") - 1;
		snprintf(fill, sizeof(fill), "%0*d %s", (int)n, 0, cases[i].number);
		text_wrap(&o, TEXT_PLAIN, "", fill, 3);
		fclose(o.to);
		assert_string_equal(text + n, cases[i].wrapped);
		free(text);
	}
}

static void test_table_gives_way_where_it_may(void **state)
{
	static const struct text_column columns[] = {
		{ "kernel", COLUMN_NAME },
		{ "ms", COLUMN_NUMBER },
	};
	char *text, name[200];
	size_t bytes;
	struct text_table t;
	(void)state;
	memset(name, 'k', sizeof(name));
	name[sizeof(name) - 1] = 0;
	struct textout o = open_text(&text, &bytes);
	table_start(&t, columns, 2);
	table_cell(&t, "%s", name);
	table_cell(&t, "1.234");
	table_end(&t, &o);
	fclose(o.to);
	const char *row = strchr(text, '\n') + 1;
	assert_int_equal(strlen(row), 81); /* with its line's end */
	assert_non_null(strstr(row, "1.234\n"));
	free(text);
}

/* What is cut from a name is not what tells it from the others. */
static void test_names_that_differ_look_different(void **state)
{
	static const struct text_column columns[] = {
		{ "kernel", COLUMN_NAME },
		{ "ms", COLUMN_NUMBER },
	};
	static const char *const functors[] = { "MulFunctor", "AddFunctor", "größter" };
	char *text, *lines[4];
	size_t bytes;
	struct text_table t;
	(void)state;
	struct textout o = open_text(&text, &bytes);
	table_start(&t, columns, 2);
	for (int i = 0; i < 3; i++) {
		table_cell(&t,
			   "vectorized_elementwise_kernel<4, BinaryFunctor<float, float, float, "
			   "%s<float> >, TrivialOffsetCalculator<1, unsigned int>, array<char*> >",
			   functors[i]);
		table_cell(&t, "1.234");
	}
	table_end(&t, &o);
	fclose(o.to);
	for (int i = 0; i < 4; i++)
		lines[i] = strtok(i ? NULL : text, "\n");
	for (int i = 0; i < 3; i++) {
		assert_non_null(strstr(lines[i + 1], functors[i]));
		assert_int_equal(text_width(lines[i + 1]), 80);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits_stays),
		cmocka_unit_test(test_cut_where_it_hurts_least),
		cmocka_unit_test(test_columns_are_counted_not_bytes),
		cmocka_unit_test(test_control_characters_are_cleaned),
		cmocka_unit_test(test_wrapped_words),
		cmocka_unit_test(test_a_number_and_its_unit_stay_together),
		cmocka_unit_test(test_table_gives_way_where_it_may),
		cmocka_unit_test(test_names_that_differ_look_different),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
