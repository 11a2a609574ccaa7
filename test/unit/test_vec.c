/* Arrays that are emptied from their front. */
#include "core/util/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_a_queue_holds_what_is_left_in_order(void **state)
{
	(void)state;
	QUEUE(size_t) q = { 0 };
	size_t next = 0, first = 0;
	for (size_t round = 1; round < 400; round++) {
		for (size_t i = 0; i < round * 7 % 61; i++)
			queue_push(&q, next++);
		size_t n = q.n < round % 53 ? q.n : round % 53;
		queue_shift(&q, n);
		first += n;
		assert_int_equal(q.n, next - first);
		for (size_t i = 0; i < q.n; i++)
			assert_int_equal(q.at[i], first + i);
	}
	queue_free(&q);
	queue_free(&q);
}

static void test_space_before_a_queue_is_reused(void **state)
{
	(void)state;
	QUEUE(uint64_t) q = { 0 };
	for (uint64_t i = 0; i < 10; i++)
		queue_push(&q, i);
	for (uint64_t i = 0; i < 100000; i++) {
		queue_push(&q, i);
		queue_shift(&q, 1);
	}
	assert_int_equal(q.n, 10);
	assert_in_range(q.room, 10, 100);
	queue_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_queue_holds_what_is_left_in_order),
		cmocka_unit_test(test_space_before_a_queue_is_reused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
