/*
 * The hook table in the library: every row can be looked up, has a wrapper of its own, and has
 * attributes that fit its name.
 */
#include "preload/hook.h"
#include "preload/lookup.h"

#include <cuda.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool has_suffix(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);
	return n > m && !strcmp(text + n - m, suffix);
}

static void test_every_symbol_finds_its_row(void **state)
{
	(void)state;
	for (int i = 0; i < HOOK_COUNT; i++)
		assert_int_equal(lookup_row(hook_rows[i].symbol), i);
}

static void test_other_names_find_none(void **state)
{
	(void)state;
	static const char *const names[] = { "",
					     "cu",
					     "cuda",
					     "cudaMallo",
					     "cudaMalloc_",
					     "cuGetProcAddress",
					     "cuInit",
					     "cudaGetDevice",
					     "__cudaRegisterFatBinary",
					     "malloc",
					     "cuLaunchKernel_v2" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(lookup_row(names[i]), -1);
}

static int compare_pointers(const void *a, const void *b)
{
	uintptr_t one = (uintptr_t) * (void *const *)a, two = (uintptr_t) * (void *const *)b;
	return one < two ? -1 : one > two;
}

/* The linker may fold functions that are alike: then two rows would record under one name. */
static void test_wrappers_are_distinct(void **state)
{
	(void)state;
	static void *wrappers[HOOK_COUNT], *reals[HOOK_COUNT];
	for (int i = 0; i < HOOK_COUNT; i++) {
		wrappers[i] = hook_rows[i].wrapper;
		reals[i] = (void *)hook_rows[i].real;
	}
	qsort(wrappers, HOOK_COUNT, sizeof(*wrappers), compare_pointers);
	qsort(reals, HOOK_COUNT, sizeof(*reals), compare_pointers);
	assert_non_null(wrappers[0]);
	for (int i = 1; i < HOOK_COUNT; i++) {
		assert_ptr_not_equal(wrappers[i], wrappers[i - 1]);
		assert_ptr_not_equal(reals[i], reals[i - 1]);
	}
}

static void test_facts_fit_the_names(void **state)
{
	(void)state;
	for (int i = 0; i < HOOK_COUNT; i++) {
		const struct hook_row *row = &hook_rows[i];
		bool twin = has_suffix(row->symbol, "_ptsz") || has_suffix(row->symbol, "_ptds");
		assert_in_range(row->category, 0, CAT_COUNT - 1);
		if (row->entry_point == ENTRY_POINT_RUNTIME) {
			assert_string_equal(row->name, row->symbol);
			continue;
		}
		/* cuMemcpyHtoD_v2_ptds is asked for as cuMemcpyHtoD, from its version on */
		size_t n = strlen(row->name);
		assert_memory_equal(row->symbol, row->name, n);
		assert_true(!row->symbol[n] || row->symbol[n] == '_');
		assert_int_equal(row->is_twin, twin);
		assert_in_range(row->version * 10, 2000, CUDA_VERSION);
	}
}

/* Of two rows that one name may give, the version must tell which. */
static void test_versions_distinguish_rows(void **state)
{
	(void)state;
	for (int i = 0; i < HOOK_COUNT; i++)
		for (int j = 0; j < i; j++) {
			const struct hook_row *a = &hook_rows[i], *b = &hook_rows[j];
			if (a->entry_point == ENTRY_POINT_DRIVER &&
			    b->entry_point == ENTRY_POINT_DRIVER && a->is_twin == b->is_twin &&
			    !strcmp(a->name, b->name) && a->version == b->version)
				fail_msg("%s and %s share a name and a version", a->symbol,
					 b->symbol);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_symbol_finds_its_row),
		cmocka_unit_test(test_other_names_find_none),
		cmocka_unit_test(test_wrappers_are_distinct),
		cmocka_unit_test(test_facts_fit_the_names),
		cmocka_unit_test(test_versions_distinguish_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
