/* How many blocks fit on a multiprocessor: values of NVIDIA's occupancy calculator. */
#include "core/model/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check(uint32_t major, uint32_t minor, uint32_t threads, uint32_t registers,
		  uint32_t shared_bytes, uint32_t blocks)
{
	const struct occupancy_limits *l = occupancy_limits(major, minor);
	assert_non_null(l);
	assert_int_equal(occupancy_blocks(l, threads, registers, shared_bytes), blocks);
}

static void test_the_scarcest_resource_counts(void **state)
{
	(void)state;
	check(9, 0, 256, 32, 0, 8);	   /* threads: 2048 / 256 */
	check(9, 0, 32, 16, 0, 32);	   /* blocks */
	check(9, 0, 256, 64, 0, 4);	   /* registers: 65536 / (64 * 256) */
	check(9, 0, 256, 255, 0, 1);	   /* registers of a warp: 255 * 32, in units of 256 */
	check(9, 0, 128, 168, 232448, 1);  /* all shared memory that a block can have */
	check(9, 0, 128, 32, 48 << 10, 4); /* shared memory: 228 KiB / (48 + 1) KiB */
	check(8, 6, 1024, 32, 0, 1);	   /* threads: 1536 / 1024 */
	check(7, 0, 256, 32, 48 << 10, 2); /* no reserved memory */
	check(7, 5, 1024, 64, 0, 1);
	check(9, 0, 1024, 65, 0, 0); /* 72 registers for 1024 threads are too many */
	check(9, 0, 0, 32, 0, 0);
	assert_null(occupancy_limits(5, 0));
}

static void test_a_small_grid_limits_the_estimate(void **state)
{
	const struct occupancy_limits *l = occupancy_limits(9, 0);
	(void)state;
	assert_true(occupancy_pct(l, 8, 100, 256) == 100);
	assert_true(occupancy_pct(l, 4, 100, 256) == 50);
	assert_true(occupancy_pct(l, 8, 0.5, 256) == 6.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_scarcest_resource_counts),
		cmocka_unit_test(test_a_small_grid_limits_the_estimate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
