/*
 * Modules around calls, from made-up stacks: one call per stack, 10 ns each, one after the other
 * with 10 ns between.
 */
#include "core/analysis/modules.h"
#include "test/unit/made_stacks.h"
#include "test/unit/made_step.h"

#define USER	  "train.py:<module>", "train.py:main"
#define CALL	  "/site-packages/torch/nn/modules/module.py:Module._call_impl"
#define NET(line) USER, CALL, "m.py:Net.forward@" line
#define BLOCK	  NET("3"), CALL, "m.py:Block.forward@"

static struct modules modules;
static struct module_list list;

static int end(void **state)
{
	(void)state;
	made_step_end();
	modules_free(&modules);
	modules = (struct modules){ 0 };
	return 0;
}

static void call(uint32_t stack)
{
	uint64_t at_ns = 20 * made_step.calls.n;
	made_call(at_ns, at_ns + 10, stack);
}

/*
 * Checks what holds for every step: spans nest, and the innermost ones around a call are its
 * stack's modules.
 */
static void find(void)
{
	modules_find(&modules, &made_step, 0, made_some, &list);
	for (size_t i = 1; i < list.at.n; i++) {
		const struct module_span *s = &list.at.at[i];
		assert_true(s->depth <= s[-1].depth + 1);
		assert_true(s->begin_ns >= s[-1].begin_ns && s->end_ns > s->begin_ns);
		for (size_t k = 0; k < i; k++) {
			const struct module_span *o = &list.at.at[k];
			assert_true(o->end_ns <= s->begin_ns || o->end_ns >= s->end_ns);
		}
	}
}

static void expect(size_t i, const char *name, uint32_t depth, uint64_t first_call,
		   uint64_t last_call)
{
	assert_true(i < list.at.n);
	const struct module_span *s = &list.at.at[i];
	assert_string_equal(s->name, name);
	assert_int_equal(s->depth, depth);
	assert_int_equal(s->begin_ns, 20 * first_call);
	assert_int_equal(s->end_ns, 20 * last_call + 10);
	assert_int_equal(s->n_calls, last_call - first_call + 1);
}

static void one_within_the_other(void **state)
{
	(void)state;
	call(STACK(USER, "at::_ops::to"));
	call(STACK(BLOCK "7", CALL, "m.py:Linear.forward"));
	call(STACK(BLOCK "8", "at::_ops::add"));
	call(STACK(NET("4"), "at::_ops::mul"));
	call(STACK(USER, "at::_ops::sum"));
	find();
	assert_int_equal(list.at.n, 3);
	expect(0, "Net", 0, 1, 3);
	expect(1, "Block", 1, 1, 2);
	expect(2, "Linear", 2, 1, 1);
}

/* Blocks of a loop: the second begins where the first one's first call comes again. */
static void called_again_from_the_same_line(void **state)
{
	uint32_t norm = STACK(BLOCK "7", CALL, "m.py:LayerNorm.forward"),
		 linear = STACK(BLOCK "8", CALL, "m.py:Linear.forward");
	(void)state;
	for (int i = 0; i < 2; i++) {
		call(norm);
		call(linear);
	}
	find();
	assert_int_equal(list.at.n, 7);
	expect(0, "Net", 0, 0, 3);
	expect(1, "Block", 1, 0, 1);
	expect(4, "Block", 1, 2, 3);
}

static void sequential_is_one(void **state)
{
	uint32_t linear = STACK(NET("3"), CALL, "c.py:Sequential.forward", CALL,
				"m.py:Linear.forward"),
		 gelu = STACK(NET("3"), CALL, "c.py:Sequential.forward", CALL, "m.py:GELU.forward");
	(void)state;
	call(linear);
	call(gelu);
	call(linear);
	find();
	assert_int_equal(list.at.n, 5);
	expect(1, "Sequential", 1, 0, 2);
	expect(4, "Linear", 2, 2, 2);
}

static void equal_neighbours_are_one(void **state)
{
	uint32_t linear = STACK(NET("3"), CALL, "m.py:Linear.forward");
	(void)state;
	call(linear);
	call(linear);
	find();
	assert_int_equal(list.at.n, 2);
	expect(1, "Linear", 1, 0, 1);
}

static void from_another_line_it_is_another(void **state)
{
	(void)state;
	call(STACK(NET("3"), CALL, "m.py:Linear.forward"));
	call(STACK(NET("4"), CALL, "m.py:Linear.forward"));
	find();
	assert_int_equal(list.at.n, 3);
	expect(2, "Linear", 1, 1, 1);
}

/* Of a deep stack the native frames furthest out are missing, not always as many. */
static void native_frames_further_out_do_not_count(void **state)
{
	(void)state;
	call(STACK("Py_RunMain", "vectorcall", BLOCK "7", "at::_ops::mm"));
	call(STACK("vectorcall", BLOCK "8", "at::_ops::add"));
	find();
	assert_int_equal(list.at.n, 2);
	expect(0, "Net", 0, 0, 1);
	expect(1, "Block", 1, 0, 1);
}

/*
 * Decorators and hooks lie between; a function called forward that no module called is not a
 * module.
 */
static void what_is_a_module(void **state)
{
	(void)state;
	call(STACK(USER, CALL, "hf.py:can_return_tuple.<locals>.wrapper", "m.py:GPT.forward"));
	call(STACK(USER, "m.py:Pipeline.forward"));
	call(STACK(USER, "m.py:Pipeline.forward", CALL, "m.py:Net.forward"));
	find();
	assert_int_equal(list.at.n, 2);
	expect(0, "GPT", 0, 0, 0);
	expect(1, "Net", 0, 2, 2);
}

static void calls_without_stacks_end_nothing(void **state)
{
	uint32_t net = STACK(NET("3"), "at::_ops::mm");
	(void)state;
	call(net);
	call(0);
	call(net);
	find();
	assert_int_equal(list.at.n, 1);
	assert_int_equal(list.at.at[0].end_ns, 50);
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, made_step_begin, end)
	const struct CMUnitTest tests[] = {
		test(one_within_the_other),
		test(called_again_from_the_same_line),
		test(sequential_is_one),
		test(equal_neighbours_are_one),
		test(from_another_line_it_is_another),
		test(native_frames_further_out_do_not_count),
		test(what_is_a_module),
		test(calls_without_stacks_end_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
