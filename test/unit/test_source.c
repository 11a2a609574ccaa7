/* Which line a loop has whose statement has no code (core/symbols/source.h). */
#include "core/symbols/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* Returns source_endless() of the last line of `text`. */
static uint32_t endless(const char *text)
{
	char path[64];
	struct source s = { 0 };
	struct strtab texts = { 0 };
	snprintf(path, sizeof(path), "/tmp/test-source-%d.txt", (int)getpid());
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	uint32_t last = 1;
	for (const char *c = text; *c; c++)
		last += *c == '\n';
	uint32_t line = source_endless(&s, &texts, "", path, last);
	assert_int_equal(source_endless(&s, &texts, "", path, last + 1), last + 1);
	assert_int_equal(source_endless(&s, &texts, "", "/nowhere", last), last);
	source_free(&s);
	strtab_free(&texts);
	unlink(path);
	return line;
}

static void test_the_statement_before_the_body(void **state)
{
	static const char *const found[] = {
		"do {\nrun();",
		"  do\n  {\n    run();",
		"while (true) {\nrun();",
		"while(1){\n\n  // why\n  run();",
		"for (;;) {\nrun();",
		"for (int i = 0; ;) { /* up */\n#if 1\nrun();",
		"for (;; next(x)) {\nrun();",
		"while True:\n    run()",
		"while 1: # ever\n\n    run()",
		"loop {\n    run();",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++)
		if (endless(found[i]) != 1)
			fail_msg("%s", found[i]);
}

static void test_other_statements(void **state)
{
	static const char *const others[] = {
		"run();",
		"done();\nrun();",
		"while (x) {\nrun();",
		"while (10) {\nrun();",
		"while (truely) {\nrun();",
		"for (; i < n;) {\nrun();",
		"dont {\nrun();",
		"do { begin();\nrun();",
		"while (true) {\nbegin();\nrun();",
		"while (\nrun();",
		"for (\nrun();",
		"if (x) {\nrun();",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		uint32_t line = endless(others[i]);
		uint32_t last = 1;
		for (const char *c = others[i]; *c; c++)
			last += *c == '\n';
		if (line != last)
			fail_msg("%s: %u", others[i], line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_statement_before_the_body),
		cmocka_unit_test(test_other_statements),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
