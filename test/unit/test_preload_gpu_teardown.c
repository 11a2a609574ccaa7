/* Who waits while CUPTI is taken down, and what forbids it from then on. */
#include "preload/gpu_teardown.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

enum { VERSION = 24, OLD_VERSION = 22 };

static atomic_int n_behind;

static void *makes_a_graph(void *unused)
{
	gpu_teardown_graph();
	n_behind++;
	return unused;
}

static void rest_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static int setup(void **state)
{
	(void)state;
	gpu_teardown_forget();
	n_behind = 0;
	return 0;
}

static void test_old_versions(void **state)
{
	(void)state;
	assert_false(gpu_teardown_begin(OLD_VERSION));
	assert_true(gpu_teardown_begin(VERSION));
	gpu_teardown_end();
}

static void test_all_who_make_graphs_wait(void **state)
{
	(void)state;
	pthread_t threads[2];
	assert_true(gpu_teardown_begin(VERSION));
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, makes_a_graph, NULL);
		rest_ms(20);
		assert_int_equal(n_behind, 0);
	}
	gpu_teardown_end();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(n_behind, 2);
	assert_false(gpu_teardown_begin(VERSION));
}

static void test_contexts(void **state)
{
	(void)state;
	gpu_teardown_context(); /* CUPTI is not there */
	assert_false(gpu_teardown_begin(VERSION));
	gpu_teardown_context_over();
	assert_true(gpu_teardown_begin(VERSION));
	gpu_teardown_end();
	gpu_teardown_is_up(true);
	gpu_teardown_primary_context();
	assert_false(gpu_teardown_begin(VERSION));
	gpu_teardown_context_over();
	gpu_teardown_context_over(); /* a call that took no note, as it set everything up */
	assert_true(gpu_teardown_begin(VERSION));
	gpu_teardown_end();
	gpu_teardown_context();
	gpu_teardown_context_over();
	assert_false(gpu_teardown_begin(VERSION));
}

static void test_the_application_uses_it(void **state)
{
	(void)state;
	gpu_teardown_application();
	assert_false(gpu_teardown_begin(VERSION));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_old_versions, setup),
		cmocka_unit_test_setup(test_all_who_make_graphs_wait, setup),
		cmocka_unit_test_setup(test_contexts, setup),
		cmocka_unit_test_setup(test_the_application_uses_it, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
