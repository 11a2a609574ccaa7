/*
 * Native and Python frames in one order: hand-made stacks, each a case that interpreters really
 * produce.
 */
#include "preload/stack_merge.h"

#include "core/runtime/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MOST = 16 };

/* Writes the merged order as text: n0 n1 p0 ... */
static const char *merged(const struct unwind_frame *native, unsigned n_native,
			  const struct python_frame *python, unsigned n_python, uint32_t *flags)
{
	static char text[256];
	struct merged_frame out[2 * MOST];
	unsigned n = stack_merge(native, n_native, python, n_python, out, flags);
	size_t used = 0;
	text[0] = 0;
	for (unsigned i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c%u", i ? " " : "",
					 out[i].is_python ? 'p' : 'n', out[i].index);
	return text;
}

/* Frames of 0x100 bytes, one after the other. */
static void make_native(struct unwind_frame *to, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		to[i] = (struct unwind_frame){ .ip = 0x1000 + i,
					       .sp = 0x100 * (i + 1),
					       .cfa = 0x100 * (i + 2) };
}

static void expect(unsigned n_native, const struct python_frame *python, unsigned n_python,
		   uint32_t flags, const char *text, uint32_t flags_after)
{
	struct unwind_frame native[MOST];
	make_native(native, n_native);
	assert_string_equal(merged(native, n_native, python, n_python, &flags), text);
	assert_int_equal(flags, flags_after);
}

static void test_evaluator_gives_way(void **state)
{
	/* two Python functions in one activation (n1), one in another (n3) */
	const struct python_frame python[] = {
		{ .code = 1 },
		{ .code = 2, .is_entry = true, .marker = 0x280 },
		{ .code = 3, .is_entry = true, .marker = 0x480 },
	};
	(void)state;
	expect(5, python, 3, 0, "n0 p0 p1 n2 p2 n4", 0);
}

static void test_no_python(void **state)
{
	(void)state;
	expect(2, NULL, 0, 0, "n0 n1", 0);
}

static void test_no_native(void **state)
{
	const struct python_frame python[] = { { .code = 1, .is_entry = true, .marker = 0x280 } };
	uint32_t flags = STACK_TRUNCATED;
	(void)state;
	assert_string_equal(merged(NULL, 0, python, 1, &flags), "p0");
	assert_int_equal(flags, STACK_TRUNCATED);
}

/*
 * The unwinder stopped at code without unwind information: frames further out follow, and the stack
 * is marked already.
 */
static void test_native_truncated(void **state)
{
	const struct python_frame python[] = { { .code = 1, .is_entry = true, .marker = 0x780 },
					       { .code = 2, .is_entry = true, .marker = 0x980 } };
	(void)state;
	expect(2, python, 2, STACK_TRUNCATED, "n0 n1 p0 p1", STACK_TRUNCATED);
}

static void test_no_markers(void **state)
{
	const struct python_frame python[] = { { .code = 1, .is_entry = true },
					       { .code = 2, .is_entry = true } };
	(void)state;
	expect(2, python, 2, 0, "n0 n1 p0 p1", STACK_UNMERGED);
}

/*
 * A coroutine library switched stacks: a marker that no frame holds must not keep the others from
 * theirs.
 */
static void test_a_missed_run(void **state)
{
	const struct python_frame python[] = { { .code = 1, .is_entry = true, .marker = 0x80 },
					       { .code = 2, .is_entry = true, .marker = 0x380 } };
	(void)state;
	expect(4, python, 2, 0, "p0 n0 n1 p1 n3", STACK_UNMERGED);
}

/* The depth limit cut the run's outer frames, its entry with them. */
static void test_python_truncated(void **state)
{
	const struct python_frame python[] = { { .code = 1 }, { .code = 2 } };
	(void)state;
	expect(2, python, 2, STACK_PYTHON_TRUNCATED, "n0 n1 p0 p1", STACK_PYTHON_TRUNCATED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evaluator_gives_way), cmocka_unit_test(test_no_python),
		cmocka_unit_test(test_no_native),	    cmocka_unit_test(test_native_truncated),
		cmocka_unit_test(test_no_markers),	    cmocka_unit_test(test_a_missed_run),
		cmocka_unit_test(test_python_truncated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
