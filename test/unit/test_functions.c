/* The control flow of the functions that real return addresses lie in. */
#include "core/source/journal/functions.h"
#include "test/unit/process_frames.h"

#include <malloc.h>

static struct functions *functions;

/* Reads a journal whose module is `object`, and takes the return address in its `function`. */
static uint64_t read_frame_of(const char *object, const char *function)
{
	struct wanted w = stack_of(object, function);
	jb_module(builder, &w.module, w.path);
	read_dictionary();
	functions = functions_new(&dict);
	return seen.frames[0];
}

static uint64_t read_loop_of(const char *object)
{
	return read_frame_of(object, "shapes_loop");
}

static int set_up_functions(void **state)
{
	functions = NULL;
	return set_up(state);
}

static int tear_down_functions(void **state)
{
	functions_free(functions);
	return tear_down(state);
}

static void the_loop_around_a_call_is_found(void **state)
{
	(void)state;
	struct function found = { 0 }, again = { 0 };
	uint32_t loops[2];
	uint64_t frame = read_loop_of("shapes.so");
	assert_true(functions_find(functions, frame, &found));
	assert_non_null(found.flow);
	assert_false(found.is_library);
	assert_false(found.is_dispatcher);
	assert_true(found.begin < found.at);
	assert_int_equal(flow_loops_around(found.flow, found.at, loops, 2), 1);
	assert_int_equal(flow_loops_around(found.flow, found.begin, loops, 2), 0);
	assert_false(flow_is_forward(found.flow, found.at, found.at));
	/* another place in the same function */
	assert_true(functions_find(functions, frame - (found.at - found.begin), &again));
	assert_ptr_equal(found.flow, again.flow);
	assert_int_equal(again.at, found.begin);
	assert_int_equal(again.begin, found.begin);
	/* and the same place again */
	assert_true(functions_find(functions, frame, &again));
	assert_memory_equal(&found, &again, sizeof(found));
}

static void without_a_symbol_there_is_no_function(void **state)
{
	(void)state;
	struct function found;
	uint64_t frame = read_loop_of("shapes.so");
	assert_false(functions_find(functions, frame_native(SHAPES, 1), &found));
	assert_false(functions_find(functions, frame_native(SHAPES, 0xffffffffff), &found));
	assert_false(functions_find(functions, frame_native(SHAPES + 1, 0x1100), &found));
	assert_false(functions_find(functions, FRAME_PYTHON, &found));
	assert_true(functions_find(functions, frame, &found));
}

/* .dynsym remains of it, which has the exported functions. */
static void exported_functions_of_a_stripped_object_are_found(void **state)
{
	(void)state;
	struct function found;
	uint32_t loop;
	uint64_t frame = read_loop_of("shapes_stripped.so");
	assert_true(functions_find(functions, frame, &found));
	assert_int_equal(flow_loops_around(found.flow, found.at, &loop, 1), 1);
}

static void the_loop_over_overloads_is_that_of_a_dispatcher(void **state)
{
	(void)state;
	struct function found;
	uint64_t frame = read_frame_of("shapes.so", "_ZN8pybind1112cpp_function10dispatcherEPFvvE");
	assert_true(functions_find(functions, frame, &found));
	assert_true(found.is_dispatcher);
}

static void another_build_is_not_read(void **state)
{
	(void)state;
	struct function found;
	struct wanted w = stack_of("shapes.so", "shapes_loop");
	w.module.build_id[0] ^= 1;
	jb_module(builder, &w.module, w.path);
	read_dictionary();
	functions = functions_new(&dict);
	assert_false(functions_find(functions, seen.frames[0], &found));
}

/* Files that are opened later make the table of files grow, and its old memory is freed. */
static void a_file_is_read_after_many_others_were_opened(void **state)
{
	(void)state;
	enum { FIRST = 200, LAST = 1000 };
	struct function found;
	struct wanted w = stack_of("shapes.so", "shapes_names");
	for (w.module.id = FIRST; w.module.id <= LAST; w.module.id += LAST - FIRST)
		jb_module(builder, &w.module, w.path);
	read_dictionary();
	functions = functions_new(&dict);
	mallopt(M_PERTURB, 0x55); /* overwrites what is freed */
	/* frames 1 to 3 are the callers, whose calls must be looked up in the first file */
	for (size_t i = 0; i < 4; i++) {
		uint64_t offset = seen.frames[i] & 0xffffffffffff;
		assert_true(functions_find(functions, frame_native(FIRST, offset), &found));
		assert_true(functions_find(functions, frame_native(LAST, offset), &found));
	}
	mallopt(M_PERTURB, 0);
}

int main(void)
{
#define test(function) \
	cmocka_unit_test_setup_teardown(function, set_up_functions, tear_down_functions)
	const struct CMUnitTest tests[] = {
		test(the_loop_around_a_call_is_found),
		test(without_a_symbol_there_is_no_function),
		test(exported_functions_of_a_stripped_object_are_found),
		test(the_loop_over_overloads_is_that_of_a_dispatcher),
		test(another_build_is_not_read),
		test(a_file_is_read_after_many_others_were_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
