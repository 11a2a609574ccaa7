/* What a frame says of its stack depends on how far out it stands. */
#include "core/symbols/stack_about.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint32_t about(const char *function, const char *module, size_t number)
{
	const struct frame frame = { .function = function, .file = "", .module = module };
	uint32_t by_depth[ABOUT_DEPTHS];
	stack_about_match(&frame, by_depth);
	return by_depth[stack_about_depth(number)];
}

static void test_how_far_out(void **state)
{
	(void)state;
	assert_int_equal(about("gemm", "libcublas.so.13", 3), ABOUT_LIBRARY);
	assert_int_equal(about("gemm", "libcublas.so.13", 4), 0);
	assert_int_equal(about("NativeCachingAllocator::malloc", "", 0), ABOUT_ALLOCATOR);
	assert_int_equal(about("NativeCachingAllocator::malloc", "", 15), ABOUT_ALLOCATOR);
	assert_int_equal(about("NativeCachingAllocator::malloc", "", 16), 0);
	assert_int_equal(about("_SingleProcessDataLoaderIter.__next__", "", 0),
			 ABOUT_INPUT | ABOUT_FETCH);
	assert_int_equal(about("_SingleProcessDataLoaderIter.__next__", "", 100),
			 ABOUT_INPUT | ABOUT_FETCH);
	assert_int_equal(about("torch::utils::tensor_ctor", "libtorch_python.so", 20),
			 ABOUT_NUMBERS);
}

/* Near its end NCCL's library says two things of a stack, further out one. */
static void test_rows_add_up(void **state)
{
	(void)state;
	assert_int_equal(about("ncclSend", "libnccl.so.2", 0), ABOUT_LIBRARY | ABOUT_COLLECTIVE);
	assert_int_equal(about("ncclSend", "libnccl.so.2", 20), ABOUT_COLLECTIVE);
}

static void test_a_file(void **state)
{
	const struct frame frame = { .function = "Popen._communicate",
				     .file = "/usr/lib/python3.11/subprocess.py",
				     .module = "" };
	uint32_t by_depth[ABOUT_DEPTHS];
	(void)state;
	stack_about_match(&frame, by_depth);
	assert_int_equal(by_depth[stack_about_depth(2)], ABOUT_CHILD);
	assert_int_equal(by_depth[stack_about_depth(20)], 0);
}

/* Python's queues serve logs, too: only what is taken out may be a batch. */
static void test_only_taking_from_a_queue_fetches(void **state)
{
	static const struct {
		const char *function, *file;
		uint32_t about;
	} rows[] = {
		{ "Queue.get", "/usr/lib/python3.11/queue.py", ABOUT_FETCH },
		{ "Queue.put", "/usr/lib/python3.11/queue.py", 0 },
		{ "SimpleQueue.get", "/usr/lib/python3.11/multiprocessing/queues.py", ABOUT_FETCH },
		{ "JoinableQueue.put", "/usr/lib/python3.11/multiprocessing/queues.py", 0 },
		{ "_ConnectionBase.recv", "/usr/lib/python3.11/multiprocessing/connection.py",
		  ABOUT_FETCH },
		{ "_ConnectionBase.send", "/usr/lib/python3.11/multiprocessing/connection.py", 0 },
		{ "wait", "/usr/lib/python3.11/multiprocessing/connection.py", ABOUT_FETCH },
	};
	uint32_t by_depth[ABOUT_DEPTHS];
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct frame frame = { .function = rows[i].function,
					     .file = rows[i].file,
					     .module = "" };
		stack_about_match(&frame, by_depth);
		assert_int_equal(by_depth[stack_about_depth(9)], rows[i].about);
	}
}

static void test_a_method_is_meant_by_its_last_name(void **state)
{
	(void)state;
	assert_int_equal(about("Data.__getitem__", "", 9), ABOUT_INPUT);
	assert_int_equal(about("Data.__getitem__.<locals>.call", "", 9), 0);
	assert_int_equal(about("Disk.__next__", "", 9), ABOUT_FETCH);
	assert_int_equal(about("log_metrics", "", 0), 0);
}

static void test_exit_is_that_of_the_c_library(void **state)
{
	(void)state;
	assert_int_equal(about("exit", "libc.so.6", 40), ABOUT_EXIT);
	assert_int_equal(about("Py_FinalizeEx", "python3.12", 40), ABOUT_EXIT);
	assert_int_equal(about("Scope.exit", "", 0), 0);
	assert_int_equal(about("exit", "libplugin.so", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_far_out),
		cmocka_unit_test(test_rows_add_up),
		cmocka_unit_test(test_a_file),
		cmocka_unit_test(test_only_taking_from_a_queue_fetches),
		cmocka_unit_test(test_a_method_is_meant_by_its_last_name),
		cmocka_unit_test(test_exit_is_that_of_the_c_library),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
