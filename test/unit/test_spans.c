/* Spans around calls, from made-up stacks. */
#include "core/analysis/spans.h"
#include "test/unit/made_stacks.h"
#include "test/unit/made_step.h"

static struct spans spans;
static struct span_list found;

static int end(void **state)
{
	(void)state;
	made_step_end();
	spans_free(&spans);
	spans = (struct spans){ 0 };
	return 0;
}

static void range(uint64_t begin_ns, uint64_t end_ns)
{
	vec_push(&made_step.ranges, (struct model_range){ .begin_ns = begin_ns, .end_ns = end_ns });
}

static bool nests(uint64_t begin_a, uint64_t end_a, uint64_t begin_b, uint64_t end_b)
{
	return end_a <= begin_b || end_b <= begin_a || (begin_a <= begin_b && end_b <= end_a) ||
	       (begin_b <= begin_a && end_a <= end_b);
}

/* Whether the operators of the call's stack lie around it, in their order. */
static void check_operators(const struct model_call *c)
{
	struct frame_list list = frames_of(NULL, c->stack);
	size_t i = list.n;
	const char *last = "";
	for (size_t k = 0; k < found.at.n; k++) {
		const struct span *s = &found.at.at[k];
		if (s->kind != SPAN_OPERATOR || s->begin_ns > c->begin_ns || s->end_ns < c->end_ns)
			continue;
		while (i && (!*frame_operator(list.at[i - 1]) ||
			     !strcmp(frame_operator(list.at[i - 1]), last)))
			i--;
		assert_true(i);
		last = frame_operator(list.at[--i]);
		assert_string_equal(s->operator, last);
	}
	for (; i; i--)
		assert_true(!*frame_operator(list.at[i - 1]) ||
			    !strcmp(frame_operator(list.at[i - 1]), last));
}

/*
 * Checks what holds for every step: spans nest, with each other and with the calls; each call lies
 * in its operators.
 */
static void find(void)
{
	spans_find(&spans, &made_step, 0, made_some, &found);
	for (size_t i = 0; i < found.at.n; i++) {
		const struct span *s = &found.at.at[i];
		assert_true(s->begin_ns <= s->end_ns);
		assert_true(!i || s->begin_ns >= s[-1].begin_ns);
		for (size_t k = 0; k < i; k++)
			assert_true(nests(s->begin_ns, s->end_ns, found.at.at[k].begin_ns,
					  found.at.at[k].end_ns));
		for (size_t k = 0; k < made_step.calls.n; k++)
			assert_true(nests(s->begin_ns, s->end_ns, made_step.calls.at[k].begin_ns,
					  made_step.calls.at[k].end_ns));
	}
	for (size_t k = 0; k < made_step.calls.n; k++)
		check_operators(&made_step.calls.at[k]);
	size_t n_ranges = found.crossing.n;
	for (size_t i = 0; i < found.at.n; i++)
		n_ranges += found.at.at[i].kind == SPAN_RANGE;
	assert_int_equal(n_ranges, made_step.ranges.n);
}

static void expect(size_t i, const char *operator, uint64_t begin_ns, uint64_t end_ns,
		   uint32_t depth)
{
	assert_true(i < found.at.n);
	const struct span *s = &found.at.at[i];
	if (operator)
		assert_string_equal(s->operator, operator);
	else
		assert_int_equal(s->kind, SPAN_RANGE);
	assert_int_equal(s->begin_ns, begin_ns);
	assert_int_equal(s->end_ns, end_ns);
	assert_int_equal(s->depth, depth);
}

static void test_calls_of_one_operator_make_one_span(void **state)
{
	(void)state;
	uint32_t gemm = STACK("main", "at::_ops::linear", "at::_ops::addmm", "gemm");
	uint32_t bias =
		STACK("main", "at::_ops::linear", "at::_ops::add", "at::_ops::add", "kernel");
	made_call(100, 110, 0);
	made_call(120, 130, gemm);
	made_call(140, 150, gemm); /* the same stack without a pause: a loop within the operator */
	made_call(160, 170, bias);
	made_call(180, 190, 0);
	find();
	assert_int_equal(found.at.n, 3);
	expect(0, "aten::linear", 120, 170, 0);
	expect(1, "aten::addmm", 120, 150, 1);
	expect(2, "aten::add", 160, 170, 1);
}

static void test_two_runs_of_an_operator_are_two_spans(void **state)
{
	(void)state;
	uint32_t here = STACK("line 1", "at::_ops::linear", "gemm");
	uint32_t there = STACK("line 2", "at::_ops::linear", "gemm");
	uint32_t deeper = STACK("line 2", "at::_ops::linear", "other");
	made_call(100, 110, here);
	made_call(111, 120, there);	  /* called from elsewhere */
	made_call(90000, 90010, deeper);  /* the same run, however long it took to get there */
	made_call(190000, 190010, there); /* seen before, and after a pause: a loop around it */
	find();
	assert_int_equal(found.at.n, 3);
	expect(0, "aten::linear", 100, 110, 0);
	expect(1, "aten::linear", 111, 90010, 0);
	expect(2, "aten::linear", 190000, 190010, 0);
}

static void test_an_operator_that_begins_again_is_another_run(void **state)
{
	(void)state;
	uint32_t first = STACK("engine", "at::_ops::node", "at::_ops::mm", "gemm");
	uint32_t second = STACK("engine", "at::_ops::node", "line 2", "at::_ops::mm", "gemm");
	for (uint64_t at = 0; at < 2000; at += 1000) { /* too soon to be distinguished by a pause */
		made_call(at + 100, at + 110, first);
		made_call(at + 200, at + 210, second);
	}
	find();
	assert_int_equal(found.at.n, 6);
	expect(0, "aten::node", 100, 210, 0);
	expect(1, "aten::mm", 100, 110, 1);
	expect(2, "aten::mm", 200, 210, 1);
	expect(3, "aten::node", 1100, 1210, 0);
	assert_int_equal(found.at.at[3].first_call, 2);
	assert_int_equal(found.at.at[3].n_calls, 2);
	assert_true(spans_pause_ns("aten::cat") > spans_pause_ns("aten::mm"));
}

static void test_operators_end_where_ranges_do(void **state)
{
	(void)state;
	uint32_t s = STACK("main", "at::_ops::linear", "gemm");
	range(95, 125);
	range(125, 150);
	range(130, 145);
	made_call(100, 110, s);
	made_call(115, 120, s);
	made_call(130, 140, s);
	made_call(150, 160, s);
	find();
	assert_int_equal(found.at.n, 6);
	expect(0, NULL, 95, 125, 0);
	expect(1, "aten::linear", 100, 120, 1);
	expect(2, NULL, 125, 150, 0);
	expect(3, NULL, 130, 145, 1);
	expect(4, "aten::linear", 130, 140, 2);
	expect(5, "aten::linear", 150, 160, 0);
}

static void block(uint64_t ns, uint32_t stack)
{
	vec_push(&made_step.blocks,
		 (struct model_block){ .ns = ns, .event = BLOCK_MADE, .stack = stack });
}

static void test_operators_begin_where_they_allocate(void **state)
{
	(void)state;
	uint32_t before = STACK("main", "at::_ops::relu", "launch");
	uint32_t result = STACK("main", "at::_ops::linear", "at::_ops::addmm", "at::_ops::empty");
	uint32_t elsewhere = STACK("other", "at::_ops::linear", "empty");
	uint32_t outer = STACK("main", "at::_ops::linear", "empty");
	uint32_t gemm = STACK("main", "at::_ops::linear", "at::_ops::addmm", "gemm");
	made_call(100, 110, before);
	block(105, outer); /* within a call: not of an operator that begins behind it */
	block(120, elsewhere);
	block(130, outer);
	block(140, result);
	block(150, result); /* the first one tells */
	made_call(160, 170, gemm);
	block(180, gemm);
	made_call(190, 200, before);
	find();
	assert_int_equal(found.at.n, 4);
	expect(0, "aten::relu", 100, 110, 0);
	expect(1, "aten::linear", 130, 170, 0);
	expect(2, "aten::addmm", 140, 170, 1);
	expect(3, "aten::relu", 190, 200, 0);
}

static void test_blocks_do_not_reach_over_ranges(void **state)
{
	(void)state;
	uint32_t s = STACK("main", "at::_ops::linear", "gemm");
	range(130, 200);
	made_call(100, 110, 0);
	block(120, s);
	block(140, s);
	made_step.blocks.at[0].thread = 1;
	made_call(150, 160, s);
	find();
	expect(1, "aten::linear", 140, 160, 1);
	made_step.blocks.at[0].thread = 0;
	find();
	expect(1, "aten::linear", 140, 160, 1);
	made_step.ranges.n = 0;
	find();
	expect(0, "aten::linear", 120, 160, 0);
	made_step.n_live_blocks = 1; /* was there at the step's begin */
	find();
	expect(0, "aten::linear", 140, 160, 0);
	made_step.blocks.at[1].event = BLOCK_FREED;
	find();
	expect(0, "aten::linear", 150, 160, 0);
}

static void test_crossing_ranges_stand_side_by_side(void **state)
{
	(void)state;
	made_call(100, 200, 0);
	made_call(300, 400, 0);
	range(50, 350); /* ends within a call */
	range(90, 250);
	range(110, 190); /* within a call */
	range(240, 450); /* crosses another range */
	range(300, 400);
	find();
	assert_int_equal(found.crossing.n, 2);
	assert_int_equal(found.crossing.at[0], 0);
	assert_int_equal(found.crossing.at[1], 3);
}

static uint32_t random_below(uint32_t n)
{
	static uint64_t seed = 12345;
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

static int by_place(const void *a, const void *b)
{
	const struct model_range *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

enum { PICKED_MOST = 6 };

/* find() checks what must hold. */
static void test_whatever_comes_nests(void **state)
{
	static const char *const names[] = { "main",	    "line",	   "at::_ops::x",
					     "at::_ops::y", "at::_ops::z", "kernel" };
	for (int round = 0; round < 300; round++) {
		uint64_t now = 10;
		made_step_begin(state);
		for (int i = 0; i < 20; i++) {
			const char *picked[PICKED_MOST];
			size_t n = random_below(PICKED_MOST);
			for (size_t k = 0; k < n; k++)
				picked[k] = names[random_below(6)];
			made_stack(n, picked);
		}
		for (int i = 0; i < 40; i++) {
			uint64_t begin_ns = now + random_below(3) * random_below(20000);
			for (uint64_t at = now; at < begin_ns; at += 1 + random_below(9000))
				block(at, random_below(21));
			now = begin_ns + 1 + random_below(20);
			made_call(begin_ns, now, random_below(21));
		}
		for (uint32_t i = random_below(12); i > 0; i--) {
			const struct model_call *a = &made_step.calls.at[random_below(40)];
			const struct model_call *b = &made_step.calls.at[random_below(40)];
			uint64_t x = a->begin_ns - random_below(3), y = b->end_ns + random_below(3);
			range(x < y ? x : y, x < y ? y : x);
		}
		if (made_step.ranges.n)
			qsort(made_step.ranges.at, made_step.ranges.n, sizeof(*made_step.ranges.at),
			      by_place);
		find();
		end(state);
	}
	made_step_begin(state); /* for the tear-down */
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, made_step_begin, end)
	const struct CMUnitTest tests[] = {
		test(test_calls_of_one_operator_make_one_span),
		test(test_two_runs_of_an_operator_are_two_spans),
		test(test_an_operator_that_begins_again_is_another_run),
		test(test_operators_end_where_ranges_do),
		test(test_operators_begin_where_they_allocate),
		test(test_blocks_do_not_reach_over_ranges),
		test(test_crossing_ranges_stand_side_by_side),
		cmocka_unit_test_teardown(test_whatever_comes_nests, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
