/* Buffers for GPU records that CUPTI still had when it was taken down. */
#include "preload/gpu_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static time_t now_s = 1000;

/* Takes the place of libc's function in this program. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ .tv_sec = now_s };
	return 0;
}

static uint8_t *requested(void)
{
	uint8_t *buffer = NULL;
	size_t bytes = 0, most = 1;
	gpu_buffer_requested(&buffer, &bytes, &most);
	assert_non_null(buffer);
	assert_true(bytes > 0);
	return buffer;
}

/*
 * A thread that has asked for a buffer may stand still for long before it writes to it, and CUPTI
 * is taken down between short windows many times meanwhile.
 */
static void test_an_abandoned_buffer_is_not_handed_out_again_soon(void **state)
{
	(void)state;
	uint8_t *first = requested(), *others[6];
	for (unsigned i = 0; i < 6; i++) {
		gpu_records_are_down();
		now_s += i == 5;
		others[i] = requested();
		assert_ptr_not_equal(others[i], first);
		for (unsigned k = 0; k < i; k++)
			assert_ptr_not_equal(others[i], others[k]);
	}
	now_s += 10;
	gpu_records_are_down();
	assert_ptr_equal(requested(), first);
	assert_ptr_equal(requested(), others[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_abandoned_buffer_is_not_handed_out_again_soon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
