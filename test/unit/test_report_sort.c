/* Rows of a list sorted by what a column shows. */
#include "export/report_sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 8 };

/* Sorts the texts and checks the order of their indexes. */
static void check(const char *const *texts, const size_t *wanted, size_t n, bool are_numbers)
{
	struct sort_row rows[MOST];
	assert_true(n <= MOST);
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct sort_row){ i, texts[i] };
	report_sort(rows, n, are_numbers);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(rows[i].index, wanted[i]);
}

static void test_numbers_descend(void **state)
{
	static const char *const texts[] = { "9", "1,234.5", "-", "58 %", "0.003", "58 %" };
	static const size_t wanted[] = { 1, 3, 5, 0, 4, 2 };
	(void)state;
	check(texts, wanted, 6, true);
}

static void test_units_count(void **state)
{
	static const char *const texts[] = { "900 B", "1.5 GiB", "2 MiB", "512 KiB", "2.1 MB" };
	static const size_t wanted[] = { 1, 4, 2, 3, 0 };
	(void)state;
	check(texts, wanted, 5, true);
}

static void test_texts_ascend(void **state)
{
	static const char *const texts[] = { "train.py:9", "Block", "attention", "block" };
	static const size_t wanted[] = { 2, 1, 3, 0 };
	(void)state;
	check(texts, wanted, 4, false);
	report_sort(NULL, 0, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_descend),
		cmocka_unit_test(test_units_count),
		cmocka_unit_test(test_texts_ascend),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
