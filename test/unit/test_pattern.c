/* Which regular expressions are refused: core/runtime/pattern.h. */
#include "core/runtime/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int code_of(const char *pattern)
{
	regex_t compiled;
	int code = pattern_compile(&compiled, pattern);
	if (!code)
		regfree(&compiled);
	return code;
}

static void usual_patterns_are_compiled(void **state)
{
	(void)state;
	static const char *const good[] = { "softmax",
					    "^void (gemm|conv).*[0-9]+x[0-9]+.*",
					    "(a+b?)*",
					    "[]()+*{}]+",
					    "[[:digit:]+]{2,40}",
					    "x{,3}y{1,}z{64}",
					    "\\+\\+\\+\\(",
					    "((((((((((a))))))))))" };
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(code_of(good[i]), 0);
	regex_t compiled;
	assert_int_equal(pattern_compile(&compiled, "^gemm+$"), 0);
	assert_int_equal(regexec(&compiled, "gemmm", 0, NULL, 0), 0);
	assert_int_not_equal(regexec(&compiled, "gem", 0, NULL, 0), 0);
	regfree(&compiled);
}

static void repetitions_within_each_other_are_refused(void **state)
{
	(void)state;
	char why[120], plus[100], deep[300];
	memset(plus, '+', sizeof(plus) - 1);
	plus[0] = 'a';
	plus[sizeof(plus) - 1] = 0;
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	const char *const bad[] = { plus,
				    plus + 1,
				    "()++++++++++++++++",
				    "x{,20000}",
				    "((((a{99}){99}){99}){99})",
				    "(((a{200}b){200}){200,}|c)",
				    deep };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int code = code_of(bad[i]);
		assert_int_not_equal(code, 0);
		pattern_why(code, why, sizeof(why));
		assert_string_equal(why, "too many repetitions within each other");
	}
	pattern_why(code_of("(a"), why, sizeof(why));
	assert_non_null(strstr(why, "("));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_patterns_are_compiled),
		cmocka_unit_test(repetitions_within_each_other_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
