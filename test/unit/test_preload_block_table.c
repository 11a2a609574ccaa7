/*
 * The table of live blocks: found again whatever came and went around them, several devices at
 * once.
 */
#include "preload/block_table.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 100000, THREADS = 4, ROUNDS = 20000 };

struct sums {
	uint64_t n, bytes, stacks, devices;
};

static void add_up(void *context, const struct block_entry *e)
{
	struct sums *s = context;
	s->n++;
	s->bytes += e->bytes;
	s->stacks += e->stack;
	s->devices += e->device;
}

static struct sums sums(void)
{
	struct sums s = { 0 };
	for (unsigned device = 0; device < BLOCK_DEVICES; device++)
		block_table_each(device, add_up, &s);
	return s;
}

static struct block_entry block(uint64_t number)
{
	return (struct block_entry){ .address = 0x7f0000000000 + number * 512,
				     .bytes = number + 1,
				     .stack = (uint32_t)number,
				     .device = (uint8_t)(number & 1) };
}

static bool take_away(const struct block_entry *e)
{
	return block_table_remove(e->device, e->address);
}

static void more_than_the_first_table_holds(void **state)
{
	(void)state;
	uint64_t bytes = 0, stacks = 0;
	block_table_forget();
	for (uint64_t i = 0; i < MANY; i++) {
		struct block_entry e = block(i);
		assert_true(block_table_add(&e));
		bytes += e.bytes;
		stacks += e.stack;
	}
	struct sums all = sums();
	assert_int_equal(all.n, MANY);
	assert_int_equal(all.bytes, bytes);
	assert_int_equal(all.stacks, stacks);
	assert_int_equal(all.devices, MANY / 2);
	for (uint64_t i = 0; i < MANY; i += 2) {
		struct block_entry e = block(i);
		assert_true(take_away(&e));
		assert_false(take_away(&e));
	}
	assert_int_equal(sums().n, MANY / 2);
	for (uint64_t i = 1; i < MANY; i += 2) {
		struct block_entry e = block(i);
		assert_false(block_table_remove(0, e.address)); /* another device's */
		assert_true(take_away(&e));
	}
	assert_int_equal(sums().n, 0);
}

static void full(void **state)
{
	(void)state;
	uint64_t n = 0;
	block_table_forget();
	for (; n < 1000000; n++) {
		struct block_entry e = block(n);
		if (!block_table_add(&e))
			break;
	}
	assert_in_range(n, 400000, 700000);
	assert_int_equal(sums().n, n);
	block_table_forget();
	assert_int_equal(sums().n, 0);
}

/* Each thread has a device of its own; the addresses are the same. */
static void *come_and_go(void *device)
{
	for (uint64_t i = 0; i < ROUNDS; i++) {
		struct block_entry e = block(i % 1500);
		e.device = (uint8_t)(uintptr_t)device;
		if (i >= 1500 && !take_away(&e))
			return "lost one";
		if (!block_table_add(&e))
			return "no place";
	}
	return NULL;
}

static void threads(void **state)
{
	(void)state;
	pthread_t thread[THREADS];
	void *wrong;
	block_table_forget();
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, (void *)i), 0);
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &wrong);
		assert_null(wrong);
	}
	assert_int_equal(sums().n, THREADS * 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_the_first_table_holds),
		cmocka_unit_test(full),
		cmocka_unit_test(threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
