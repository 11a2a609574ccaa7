/* Graph launches with the correlation ids of earlier launches: core/source/journal/wrong_ids.c. */
#include "core/source/journal/wrong_ids.h"

#include "core/runtime/kinds.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { GRAPH = 7 };

static struct rec_gpu kernel(uint32_t id, uint64_t begin)
{
	return (struct rec_gpu){
		.kind = REC_KERNEL, .correlation = id, .begin_ticks = begin, .end_ticks = begin + 5
	};
}

static struct rec_gpu node(uint32_t id, uint64_t begin, uint64_t number)
{
	struct rec_gpu g = kernel(id, begin);
	g.graph = GRAPH;
	g.node = number;
	return g;
}

static void test_ids_in_order(void **state)
{
	struct rec_gpu works[] = { kernel(10, 100), node(11, 110, 1), node(11, 120, 2),
				   kernel(12, 130), node(13, 140, 1), node(13, 150, 2) };
	(void)state;
	assert_int_equal(wrong_ids_mark(works, 6, NULL), 0);
}

static void test_one_id_for_all_launches(void **state)
{
	struct rec_gpu works[] = { kernel(10, 100), node(4, 110, 1), node(4, 120, 2),
				   kernel(12, 130), node(4, 140, 1), node(4, 150, 2) };
	(void)state;
	assert_int_equal(wrong_ids_mark(works, 6, NULL), 4);
	for (int i = 0; i < 6; i++)
		assert_int_equal(works[i].flags & GPU_WRONG_ID, works[i].graph ? GPU_WRONG_ID : 0);
	assert_int_equal(wrong_ids_mark(works, 6, NULL), 0);
}

static void test_the_id_of_a_launch_that_is_gone(void **state)
{
	const uint32_t gone = 9;
	struct rec_gpu works[] = { kernel(10, 100), node(4, 110, 1) };
	(void)state;
	assert_int_equal(wrong_ids_mark(works, 2, &gone), 1);
}

/* Two threads that launch at once may take their ids in the other order. */
static void test_a_launch_that_was_overtaken(void **state)
{
	const uint32_t gone = 9;
	struct rec_gpu works[] = { kernel(11, 100), node(10, 110, 1) };
	(void)state;
	assert_int_equal(wrong_ids_mark(works, 2, &gone), 0);
	assert_int_equal(wrong_ids_mark(works, 2, NULL), 0);
}

/* The body of a while node runs several times in one launch. */
static void test_a_loop_in_a_graph(void **state)
{
	struct rec_gpu works[] = { kernel(10, 100), node(11, 110, 1), node(11, 120, 1),
				   kernel(12, 130) };
	(void)state;
	assert_int_equal(wrong_ids_mark(works, 4, NULL), 0);
}

/* Streams run at the same time, so their ids say nothing of one another. */
static void test_other_streams(void **state)
{
	const uint32_t gone = 9;
	struct rec_gpu works[] = { kernel(10, 100), node(4, 110, 1) };
	(void)state;
	works[1].stream = 3;
	assert_int_equal(wrong_ids_mark(works, 2, &gone), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_in_order),
		cmocka_unit_test(test_one_id_for_all_launches),
		cmocka_unit_test(test_the_id_of_a_launch_that_is_gone),
		cmocka_unit_test(test_a_launch_that_was_overtaken),
		cmocka_unit_test(test_a_loop_in_a_graph),
		cmocka_unit_test(test_other_streams),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
