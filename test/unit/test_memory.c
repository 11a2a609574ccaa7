/*
 * Who holds what at the peak, what leaks, which allocations are retried: from calls as the journal
 * has them.
 */
#include "core/model/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct memory_call on_alloc = { .category = CAT_ALLOC, .space = SPACE_DEVICE };
static const struct memory_call on_free = { .category = CAT_FREE, .space = SPACE_DEVICE };
static const struct memory_call on_pin = { .category = CAT_ALLOC, .space = SPACE_HOST };
static const struct memory_call on_reset = { .category = CAT_CONTROL, .resets_device = true };

/* `call` as one of the kind `of`. */
static struct memory_change apply(struct memory *m, const struct memory_call *of,
				  const struct memory_call *call)
{
	struct memory_call both = *call;
	both.category = of->category;
	both.space = of->space;
	both.resets_device = of->resets_device;
	return memory_apply(m, &both);
}

static void alloc(struct memory *m, uint64_t address, uint64_t bytes, uint32_t stack)
{
	apply(m, &on_alloc,
	      &(struct memory_call){ .address = address, .bytes = bytes, .stack = stack });
}

static void give_back(struct memory *m, uint64_t address)
{
	apply(m, &on_free, &(struct memory_call){ .address = address });
}

static const struct memory_place *place(const struct memory *m, uint32_t stack)
{
	for (size_t i = 0; i < m->places.n; i++)
		if (m->places.at[i].stack == stack)
			return &m->places.at[i];
	return NULL;
}

static bool leaks(const struct memory *m, uint32_t stack)
{
	return memory_growth_is_leak(&place(m, stack)->growth, m->n_steps);
}

static void who_holds_the_peak(void **state)
{
	struct memory m = { 0 };
	(void)state;
	alloc(&m, 0x1000, 100, 1);
	alloc(&m, 0x2000, 50, 2);
	give_back(&m, 0x1000);
	alloc(&m, 0x3000, 70, 3); /* 120: below the peak of 150 */
	give_back(&m, 0x2000);
	assert_int_equal(m.device_peak_bytes, 150);
	assert_int_equal(place(&m, 1)->device_peak_bytes, 100);
	assert_int_equal(place(&m, 2)->device_peak_bytes, 50);
	assert_int_equal(place(&m, 3)->device_peak_bytes, 0);
	alloc(&m, 0x4000, 200, 2); /* a new one: 270, not yet over */
	assert_true(m.at_peak);
	give_back(&m, 0x4000);
	assert_int_equal(m.device_peak_bytes, 270);
	assert_int_equal(place(&m, 1)->device_peak_bytes, 0);
	assert_int_equal(place(&m, 2)->device_peak_bytes, 200);
	assert_int_equal(place(&m, 3)->device_peak_bytes, 70);
	memory_free(&m);
}

static void host_memory_is_no_peak(void **state)
{
	struct memory m = { 0 };
	(void)state;
	struct memory_change c = apply(
		&m, &on_pin, &(struct memory_call){ .address = 0x1000, .bytes = 100, .stack = 1 });
	assert_int_equal(c.group, MEMORY_PINNED);
	assert_int_equal(c.held_bytes, 100);
	assert_int_equal(m.device_peak_bytes, 0);
	assert_int_equal(place(&m, 1)->held_bytes, 100);
	memory_free(&m);
}

static void a_reset_takes_all_of_a_device(void **state)
{
	struct memory m = { 0 };
	(void)state;
	alloc(&m, 0x1000, 100, 1);
	alloc(&m, 0x2000, 50, 2);
	apply(&m, &on_pin, &(struct memory_call){ .address = 0x3000, .bytes = 10, .stack = 3 });
	struct memory_change c = apply(&m, &on_reset, &(struct memory_call){ .address = 0 });
	assert_int_equal(c.group, MEMORY_DEVICE);
	assert_int_equal(c.held_bytes, 0);
	assert_int_equal(m.all_bytes, 10);
	assert_int_equal(place(&m, 1)->device_bytes, 0);
	assert_int_equal(m.blocks.n, 1);
	memory_free(&m);
}

/*
 * Keeps `kept` bytes a step at stack 1 in every `every`th step; makes a new buffer in each step at
 * stack 2.
 */
static void run_steps(struct memory *m, unsigned steps, unsigned every, unsigned until)
{
	for (unsigned i = 0; i < steps; i++) {
		if (i % every == every - 1 && i < until)
			alloc(m, 0x100000 + i * 0x1000, 64, 1);
		alloc(m, 0x10, 500, 2);
		if (i % 2)
			memory_end_step(m);
		give_back(m, 0x10);
		if (!(i % 2))
			memory_end_step(m);
	}
}

static void leak_in_every_step(void **state)
{
	struct memory m = { 0 };
	(void)state;
	run_steps(&m, 20, 1, 20);
	assert_true(leaks(&m, 1));
	assert_false(leaks(&m, 2));
	assert_float_equal(memory_growth_rate(&place(&m, 1)->growth, m.n_steps), 64, 1e-9);
	memory_free(&m);
}

static void leak_every_now_and_then(void **state)
{
	struct memory m = { 0 };
	(void)state;
	run_steps(&m, 1000, 40, 1000);
	assert_true(leaks(&m, 1));
	assert_float_equal(memory_growth_rate(&place(&m, 1)->growth, m.n_steps), 1.6, 0.07);
	memory_free(&m);
}

/* Each step holds a batch of another length at its end, and keeps 64 bytes if `keeps`. */
static bool grows_with_varying_batches(unsigned steps, bool keeps, double *rate)
{
	struct memory_growth g = { 0 };
	uint32_t random = 1;
	int64_t kept = 0;
	for (unsigned i = 1; i <= steps; i++) {
		random = random * 1664525 + 1013904223;
		kept += keeps ? 64 : 0;
		memory_growth_note(&g, i, kept + (int64_t)(random >> 24)); /* 0 to 255 more */
	}
	*rate = memory_growth_rate(&g, steps);
	return memory_growth_is_leak(&g, steps);
}

static void leak_below_varying_batches(void **state)
{
	double rate;
	(void)state;
	for (unsigned steps = 72; steps < 3000; steps += 131) {
		assert_true(grows_with_varying_batches(steps, true, &rate));
		assert_float_equal(rate, 64, 8);
		assert_false(grows_with_varying_batches(steps, false, &rate));
	}
}

/* The run ends in the middle of a step, where 5000 bytes more are held. */
static void a_last_step_is_no_growth(void **state)
{
	struct memory m = { 0 };
	(void)state;
	run_steps(&m, 20, 1, 20);
	alloc(&m, 0x1, 5000, 1);
	memory_end_step(&m);
	assert_true(leaks(&m, 1));
	assert_float_equal(memory_growth_rate(&place(&m, 1)->growth, m.n_steps), 64, 1e-9);
	memory_free(&m);
}

static bool leaks_after(unsigned steps, unsigned every, unsigned until)
{
	struct memory m = { 0 };
	run_steps(&m, steps, every, until);
	bool is_leak = leaks(&m, 1);
	memory_free(&m);
	return is_leak;
}

static void caches_fill_at_first(void **state)
{
	(void)state;
	assert_false(leaks_after(100, 1, 60));
}

static void too_short_to_tell(void **state)
{
	(void)state;
	assert_false(leaks_after(5, 1, 5));
}

static void no_leak_if_it_is_given_back(void **state)
{
	struct memory m = { 0 };
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		alloc(&m, 0x1000 + i % 5, 64, 1); /* five steps' worth, then all goes */
		for (unsigned k = 0; i % 5 == 4 && k < 5; k++)
			give_back(&m, 0x1000 + k);
		memory_end_step(&m);
	}
	assert_false(leaks(&m, 1));
	memory_free(&m);
}

static void retries(void **state)
{
	struct memory m = { 0 };
	const struct memory_call failed = { .status = 2, .bytes = 100 };
	(void)state;
	alloc(&m, 0x1000, 100, 1);
	apply(&m, &on_alloc, &failed);
	give_back(&m, 0x1000);
	alloc(&m, 0x2000, 100, 1);
	assert_int_equal(m.n_retries, 1);
	apply(&m, &on_alloc, &failed); /* and gives up */
	assert_int_equal(m.n_retries, 1);
	alloc(&m, 0x3000, 10, 1); /* asked for less: nothing was given back for it */
	assert_int_equal(m.n_retries, 1);
	apply(&m, &on_alloc, &(struct memory_call){ .status = 1 });
	give_back(&m, 0x3000);
	alloc(&m, 0x3000, 10, 1); /* it failed for another reason */
	assert_int_equal(m.n_retries, 1);
	memory_free(&m);
}

/*
 * Programs begin with cudaFree(NULL), and a freed block may have been allocated before recording
 * began.
 */
static void freed_where_nothing_was_allocated(void **state)
{
	struct memory m = { 0 };
	(void)state;
	apply(&m, &on_free, &(struct memory_call){ .stack = 1 });
	alloc(&m, 0x1000, 10, 2);
	assert_int_equal(m.n_reused, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		apply(&m, &on_free, &(struct memory_call){ .address = 0x2000, .stack = 3 + i });
		alloc(&m, 0x3000, 10, 2);
		assert_int_equal(place(&m, 3 + i)->n_made_room, 1);
	}
	assert_int_equal(m.n_reused, 1000);
	memory_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_holds_the_peak),
		cmocka_unit_test(freed_where_nothing_was_allocated),
		cmocka_unit_test(host_memory_is_no_peak),
		cmocka_unit_test(a_reset_takes_all_of_a_device),
		cmocka_unit_test(leak_in_every_step),
		cmocka_unit_test(leak_every_now_and_then),
		cmocka_unit_test(leak_below_varying_batches),
		cmocka_unit_test(a_last_step_is_no_growth),
		cmocka_unit_test(caches_fill_at_first),
		cmocka_unit_test(too_short_to_tell),
		cmocka_unit_test(no_leak_if_it_is_given_back),
		cmocka_unit_test(retries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
