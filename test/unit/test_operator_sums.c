/* Self and total times of operators within operators. */
#include "core/analysis/operator_sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct span operator_span(const char *name, uint64_t begin_ns, uint64_t end_ns,
				 uint32_t first_call, uint32_t n_calls)
{
	return (struct span){ .kind = SPAN_OPERATOR,
			      .operator= name,
			      .begin_ns = begin_ns,
			      .end_ns = end_ns,
			      .first_call = first_call,
			      .n_calls = n_calls };
}

static const struct operator_sum *find(const struct operator_sums *s, const struct strtab *texts,
				       const char *name)
{
	for (size_t i = 0; i < s->at.n; i++)
		if (!strcmp(strtab_text(texts, s->at.at[i].name), name))
			return &s->at.at[i];
	fail_msg("no operator %s", name);
	return NULL;
}

/*
 * linear (4 calls) holds matmul, which holds mm; a library's span between them is no operator. Then
 * linear again, alone.
 */
static void test_self_is_total_without_inner(void **state)
{
	/* GPU time of calls 0 to 4: 10, 20, 30, 40, 50 ns */
	const uint64_t gpu_ns[] = { 0, 10, 30, 60, 100, 150 };
	struct span_list spans = { 0 };
	struct operator_sums s = { 0 };
	struct strtab texts = { 0 };
	(void)state;
	vec_push(&spans.at, operator_span("linear", 0, 1000, 0, 4));
	vec_push(&spans.at, operator_span("matmul", 100, 700, 1, 2));
	vec_push(&spans.at, (struct span){ .kind = SPAN_LIBRARY, .begin_ns = 150, .end_ns = 600 });
	vec_push(&spans.at, operator_span("mm", 200, 500, 2, 1));
	vec_push(&spans.at, operator_span("linear", 2000, 2300, 4, 1));
	operator_sums_add(&s, &spans, gpu_ns, NULL, &texts);
	const struct operator_sum *linear = find(&s, &texts, "linear"),
				  *matmul = find(&s, &texts, "matmul"),
				  *mm = find(&s, &texts, "mm");
	assert_int_equal(s.at.n, 3);
	assert_int_equal(linear->n, 2);
	assert_int_equal(linear->gpu_ns, 100 + 50);
	assert_int_equal(linear->self_gpu_ns, 100 - 50 + 50);
	assert_int_equal(linear->host_ns, 1000 + 300);
	assert_int_equal(linear->self_host_ns, 1000 - 600 + 300);
	assert_int_equal(matmul->gpu_ns, 50);
	assert_int_equal(matmul->self_gpu_ns, 20);
	assert_int_equal(matmul->host_ns, 600);
	assert_int_equal(matmul->self_host_ns, 300);
	assert_int_equal(mm->gpu_ns, 30);
	assert_int_equal(mm->self_gpu_ns, 30);
	assert_int_equal(mm->host_ns, 300);
	assert_int_equal(mm->self_host_ns, 300);
	assert_int_equal(linear->self_gpu_ns + matmul->self_gpu_ns + mm->self_gpu_ns, 150);
	operator_sums_free(&s);
	strtab_free(&texts);
	vec_free(&spans.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_self_is_total_without_inner) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
