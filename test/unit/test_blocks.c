/* Blocks of a framework's allocator: records out of order, live ones, held sizes and peaks. */
#include "core/source/journal/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void take(struct blocks *b, enum block_event event, uint64_t ticks, uint64_t address,
		 uint64_t bytes, uint64_t allocated)
{
	blocks_take(b, 1,
		    &(struct rec_block){ .event = (uint8_t)event,
					 .ticks = ticks,
					 .address = address,
					 .bytes = bytes,
					 .allocated_bytes = allocated,
					 .reserved_bytes = 4096 });
}

static size_t close(struct blocks *b, uint64_t end)
{
	size_t n = blocks_cut(b, end);
	for (size_t i = 0; i < n; i++)
		blocks_apply(b, &b->waiting.at[i].r);
	blocks_drop(b, n, end);
	return n;
}

static uint64_t live_bytes(const struct blocks *b)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < b->live.n; i++)
		sum += b->live.at[i].bytes;
	return sum;
}

/* Autograd's thread and the main one: each in order, one after the other. */
static void order_of_time(void **state)
{
	(void)state;
	struct allocator allocator = { 0 };
	struct blocks b = { .allocator = &allocator };
	take(&b, BLOCK_FREED, 30, 0x1000, 100, 0);
	take(&b, BLOCK_MADE, 50, 0x2000, 300, 300);
	take(&b, BLOCK_MADE, 20, 0x1000, 100, 100);
	assert_int_equal(close(&b, 40), 2);
	assert_int_equal(b.live.n, 0);
	assert_int_equal(allocator.device[0].allocated_bytes, 0);
	assert_int_equal(allocator.device[0].peak_allocated_bytes, 100);
	assert_int_equal(close(&b, 60), 1);
	assert_int_equal(live_bytes(&b), 300);
	assert_int_equal(allocator.device[0].allocated_bytes, 300);
	blocks_free(&b);
}

static void take_stack(struct blocks *b, enum block_event event, uint64_t address, uint64_t bytes,
		       uint32_t stack)
{
	blocks_take(b, 1,
		    &(struct rec_block){ .event = (uint8_t)event,
					 .ticks = 100,
					 .address = address,
					 .bytes = bytes,
					 .stack = stack,
					 .allocated_bytes = 500,
					 .reserved_bytes = 4096 });
}

/* The library lists what is live when an allocation fails, also outside recorded steps. */
static void what_is_held_when_memory_runs_out(void **state)
{
	(void)state;
	struct allocator allocator = { 0 };
	struct blocks b = { .allocator = &allocator };
	take(&b, BLOCK_MADE, 10, 0x7000, 100, 100); /* of an earlier window */
	take_stack(&b, BLOCK_KNOWN, 0, 0, 0);
	take_stack(&b, BLOCK_LIVE, 0x1000, 100, 7);
	take_stack(&b, BLOCK_LIVE, 0x2000, 300, 9);
	take_stack(&b, BLOCK_LIVE, 0x3000, 100, 7);
	take_stack(&b, BLOCK_OUT_OF_MEMORY, 0, 800, 5);
	allocator_end_step(&allocator);
	close(&b, UINT64_MAX);
	const struct allocator_failure *f = &allocator.failure;
	assert_int_equal(allocator.n_out_of_memory, 1);
	assert_true(f->bytes == 800 && f->stack == 5 && f->n_steps == 1);
	assert_true(f->allocated_bytes == 500 && f->reserved_bytes == 4096);
	assert_int_equal(f->held.n, 2);
	assert_true(f->held.at[0].stack == 7 && f->held.at[0].bytes == 200);
	assert_true(f->held.at[1].stack == 9 && f->held.at[1].bytes == 300);
	blocks_free(&b);
	allocator_free(&allocator);
}

static void many_come_and_go(void **state)
{
	(void)state;
	struct allocator allocator = { 0 };
	struct blocks b = { .allocator = &allocator };
	for (uint64_t i = 0; i < 1000; i++)
		take(&b, BLOCK_MADE, i, 0x1000 + i * 512, i, 0);
	for (uint64_t i = 0; i < 1000; i += 2)
		take(&b, BLOCK_FREED, 1000 + i, 0x1000 + i * 512, i, 0);
	take(&b, BLOCK_FREED, 3000, 0x9999, 7, 0); /* never seen */
	close(&b, UINT64_MAX);
	assert_int_equal(b.live.n, 500);
	assert_int_equal(live_bytes(&b), 500 * 500);
	blocks_free(&b);
}

/* What was live before is only known by the list; what was known in an earlier window is old. */
static void a_window_begins(void **state)
{
	(void)state;
	struct allocator allocator = { 0 };
	struct blocks b = { .allocator = &allocator };
	take(&b, BLOCK_MADE, 10, 0x1000, 100, 100);
	take(&b, BLOCK_KNOWN, 50, 0, 0, 0);
	take(&b, BLOCK_LIVE, 50, 0x2000, 20, 1);
	take(&b, BLOCK_LIVE, 50, 0x3000, 30, 1);
	take(&b, BLOCK_MADE, 51, 0x3000, 33, 153); /* it was in the list, and has a record */
	close(&b, 100);
	assert_int_equal(b.n_windows, 1);
	assert_int_equal(b.live.n, 2);
	assert_int_equal(live_bytes(&b), 53);
	blocks_free(&b);
}

static void take_held(struct blocks *b, uint64_t ticks, uint64_t allocated, uint64_t peak)
{
	blocks_take_totals(b, &(struct rec_memory){ .ticks = ticks,
						    .allocated_bytes = allocated,
						    .reserved_bytes = allocated * 2,
						    .peak_allocated_bytes = peak,
						    .peak_reserved_bytes = peak * 2 });
}

static void held_between_windows(void **state)
{
	(void)state;
	struct allocator allocator = { 0 };
	struct blocks b = { .allocator = &allocator };
	assert_false(allocator_is_known(&allocator));
	take_held(&b, 100, 500, 900);
	take_held(&b, 200, 300, 900);
	close(&b, 100); /* the step's end is the next one's begin, where it is said */
	assert_true(allocator_is_known(&allocator));
	assert_int_equal(allocator.device[0].allocated_bytes, 500);
	assert_int_equal(allocator.device[0].peak_reserved_bytes, 1800);
	close(&b, 250);
	assert_int_equal(allocator.device[0].allocated_bytes, 300);
	assert_int_equal(allocator.device[0].peak_allocated_bytes, 900);
	blocks_free(&b);
}

static bool grows(uint64_t by, uint64_t every)
{
	struct allocator allocator = { 0 };
	struct blocks b = { .allocator = &allocator };
	for (uint64_t step = 1; step <= 40; step++) {
		take_held(&b, step * 100, 1000 + step / every * by, 5000);
		close(&b, step * 100);
		allocator_end_step(&allocator);
	}
	bool is_leak = memory_growth_is_leak(&allocator.growth, allocator.n_steps);
	blocks_free(&b);
	return is_leak;
}

static void growth(void **state)
{
	(void)state;
	assert_true(grows(512, 1));
	assert_true(grows(512, 5));
	assert_false(grows(0, 1));
	assert_false(grows(512, 30));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_of_time),
		cmocka_unit_test(many_come_and_go),
		cmocka_unit_test(a_window_begins),
		cmocka_unit_test(held_between_windows),
		cmocka_unit_test(growth),
		cmocka_unit_test(what_is_held_when_memory_runs_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
