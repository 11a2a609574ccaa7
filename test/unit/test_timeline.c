/*
 * Consecutive steps: one order over threads and streams, links kept, waits distinguished from those
 * for work that is over already.
 */
#include "core/analysis/timeline.h"
#include "core/symbols/stack_about.h"
#include "core/util/order.h"
#include "test/unit/findings_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int set_up(void **state)
{
	struct fixture *f = fixture_begin(NULL);
	sb_step(&f->b, 5, 0, 1000);
	*state = f;
	return 0;
}

static uint8_t wait_of_first(struct fixture *f)
{
	sb_end(&f->b, &f->a);
	return f->a.timeline.calls.at[0].wait;
}

static void one_order(void **state)
{
	struct fixture *f = *state;
	struct sb_call launch = { .name = "cudaLaunchKernel", .category = CAT_LAUNCH };
	for (int i = 0; i < 20; i++) { /* two threads that take turns, two streams */
		launch.begin_us = i * 10;
		launch.end_us = i * 10 + 3;
		launch.tid = i % 2 ? 2 : 1;
		launch.stream = i % 2 ? 0xab : 0;
		uint32_t call = sb_call(&f->b, launch);
		sb_work(&f->b, (struct sb_work){ .name = "k",
						 .begin_us = i * 10 + 5,
						 .end_us = i * 10 + 9,
						 .call = call,
						 .stream = i % 2 ? 13 : 7 });
	}
	sb_end(&f->b, &f->a);
	assert_int_equal(f->a.timeline.calls.n, 20);
	assert_int_equal(f->a.timeline.works.n, 20);
	assert_int_equal(f->a.timeline.threads.n, 2);
	assert_int_equal(f->a.timeline.streams.n, 2);
	for (uint32_t i = 0; i < 20; i++) {
		const struct timeline_call *c = &f->a.timeline.calls.at[i];
		const struct timeline_work *w = &f->a.timeline.works.at[i];
		assert_int_equal(c->begin_ns, i * 10000);
		assert_int_equal(f->a.timeline.threads.at[c->thread].tid, i % 2 ? 2 : 1);
		assert_int_equal(w->call, i);
		assert_int_equal(c->n_work, 1);
		assert_int_equal(f->a.timeline.work_of_call.at[c->first_work], i);
		assert_int_equal(f->a.timeline.streams.at[w->stream].stream, i % 2 ? 13 : 7);
		assert_int_equal(f->a.timeline.streams.at[w->stream].handle, i % 2 ? 0xab : 0);
	}
	assert_true(f->a.timeline.steps.at[0].has_gpu);
}

/* Work of a step that was delivered only in part. A run without steps has nothing else. */
static void work_of_a_killed_process(void **state)
{
	struct fixture *f = *state;
	for (int is_unit = 0; is_unit < 2; is_unit++) {
		double at = is_unit ? 1000 : 0;
		if (is_unit)
			sb_step(&f->b, 6, at, at + 1000);
		sb_launch(&f->b, at + 10, at + 20, at + 30, 0);
		f->b.m.launches.n_lacking[LACK_KILLED] = 1;
		f->b.m.is_whole_run = is_unit;
		sb_end(&f->b, &f->a);
		assert_int_equal(f->a.timeline.steps.at[is_unit].has_gpu, is_unit);
		assert_int_equal(f->a.timeline.works.n, is_unit);
	}
}

static void steps_side_by_side(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 10, 20, 30, 0);
	sb_end(&f->b, &f->a);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1010, 1020, 1030, 0);
	sb_launch(&f->b, 1015, 1030, 1040, 0);
	sb_end(&f->b, &f->a);
	sb_step(&f->b, 8, 3000, 4000);
	sb_end(&f->b, &f->a);
	assert_int_equal(f->a.timeline.steps.n, 3);
	assert_false(f->a.timeline.steps.at[0].follows);
	assert_true(f->a.timeline.steps.at[1].follows);
	assert_false(f->a.timeline.steps.at[2].follows);
	assert_false(f->a.timeline.steps.at[2].has_gpu);
	assert_int_equal(f->a.timeline.steps.at[1].first_call, 1);
	assert_int_equal(f->a.timeline.steps.at[1].n_work, 2);
	assert_int_equal(f->a.timeline.works.at[2].call, 2);
	assert_int_equal(f->a.timeline.works.at[2].step, 1);
	assert_int_equal(f->a.timeline.work_of_call.at[f->a.timeline.calls.at[2].first_work], 2);
}

static void looked_up_once(void **state)
{
	struct fixture *f = *state;
	fake_add(3, "train.py", 42, "train", "", "aten::item");
	fake_add(4, "torch/utils/data/dataloader.py", 7, "__next__", "", "");
	sb_launch(&f->b, 10, 20, 30, 3);
	sb_launch(&f->b, 20, 30, 40, 4);
	sb_launch(&f->b, 30, 40, 50, 3);
	sb_launch(&f->b, 40, 50, 60, 0);
	sb_end(&f->b, &f->a);
	assert_int_equal(f->a.timeline.stacks.n, 2);
	assert_int_equal(f->a.timeline.calls.at[0].site, 1);
	assert_int_equal(f->a.timeline.calls.at[2].site, 1);
	assert_int_equal(f->a.timeline.calls.at[3].site, 0);
	assert_string_equal(strtab_text(&f->a.timeline.texts, f->a.timeline.calls.at[2].op),
			    "aten::item");
	assert_true(f->a.timeline.calls.at[0].about & ABOUT_READ);
	assert_int_equal(f->a.timeline.calls.at[1].about, ABOUT_INPUT | ABOUT_FETCH);
	assert_int_equal(f->a.timeline.calls.at[3].about, 0);
}

/*
 * Each fact has a bit of its own: an engine's thread asks for nothing, and backward() makes no
 * room.
 */
static void facts_of_a_stack(void **state)
{
	struct fixture *f = *state;
	fake_add(3, "torch/autograd/graph.py", 829, "_engine_run_backward", "", "");
	fake_add(4, "engine.cpp", 1, "torch::autograd::Engine::thread_init", "", "");
	fake_add(5, "allocator.cpp", 1, "emptyCache", "", "");
	fake_add(6, "allocator.cpp", 2, "release_cached_blocks", "", "");
	assert_int_equal(stack_about(f->a.timeline.frames, 3), ABOUT_BACKWARD);
	assert_int_equal(stack_about(f->a.timeline.frames, 4), ABOUT_WORKER | ABOUT_PASS);
	assert_int_equal(stack_about(f->a.timeline.frames, 5), ABOUT_ALLOCATOR | ABOUT_EMPTY_CACHE);
	assert_int_equal(stack_about(f->a.timeline.frames, 6), ABOUT_MAKING_ROOM);
	fake_add(7, "data.py", 1, "Images.__getitem__", "", "");
	fake_add(8, "data.py", 1, "__getitem__", "", "");
	fake_add(9, "triton/runtime/jit.py", 1, "KernelInterface.__getitem__.<locals>.<lambda>", "",
		 "");
	assert_int_equal(stack_about(f->a.timeline.frames, 7), ABOUT_INPUT);
	assert_int_equal(stack_about(f->a.timeline.frames, 8), ABOUT_INPUT);
	assert_int_equal(stack_about(f->a.timeline.frames, 9),
			 0); /* made there, called by who launches a kernel */
}

static void waits_by_name(void **state)
{
	static const struct {
		const char *name;
		uint8_t wait;
	} rows[] = {
		{ "cudaStreamSynchronize", WAIT_STREAM },
		{ "cudaStreamSynchronize_ptsz", WAIT_STREAM },
		{ "cuStreamSynchronize", WAIT_STREAM },
		{ "cudaEventSynchronize", WAIT_EVENT },
		{ "cudaDeviceSynchronize", WAIT_DEVICE },
		{ "cuCtxSynchronize_v2", WAIT_DEVICE },
	};
	struct fixture *f = *state;
	size_t n = sizeof(rows) / sizeof(*rows);
	for (size_t i = 0; i < n; i++)
		sb_call(&f->b, (struct sb_call){ .name = rows[i].name,
						 .category = CAT_SYNC,
						 .begin_us = (double)i * 10,
						 .end_us = (double)i * 10 + 5 });
	sb_call(&f->b, (struct sb_call){ .name = "cudaEventQuery",
					 .category = CAT_QUERY,
					 .begin_us = 500,
					 .end_us = 501 });
	sb_end(&f->b, &f->a);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(f->a.timeline.calls.at[i].wait, rows[i].wait);
	assert_int_equal(f->a.timeline.calls.at[n].wait, WAIT_NONE);
}

static void a_loop_of_queries_is_a_wait(void **state)
{
	static const struct {
		const char *name;
		uint32_t polls;
		uint8_t wait, category;
	} rows[] = {
		{ "cudaEventQuery", 100, WAIT_EVENT, CAT_SYNC },
		{ "cudaStreamQuery_ptsz", 100, WAIT_STREAM, CAT_SYNC },
		{ "cuEventQuery", 0, WAIT_NONE, CAT_QUERY },
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < 3; i++)
		sb_call(&f->b, (struct sb_call){ .name = rows[i].name,
						 .category = CAT_QUERY,
						 .begin_us = 100 * (double)i,
						 .end_us = 100 * (double)i + 50,
						 .polls = rows[i].polls });
	sb_end(&f->b, &f->a);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(f->a.timeline.calls.at[i].wait, rows[i].wait);
		assert_int_equal(f->a.timeline.calls.at[i].category, rows[i].category);
	}
}

/* A copy of `bytes` from 100 us on the host; on the device from `begin` to `end`. */
static uint8_t copy(void **state, const char *name, uint8_t copy, uint8_t source, uint8_t target,
		    double host_end, double begin, double end, uint64_t bytes)
{
	struct fixture *f = *state;
	uint32_t call = sb_call(&f->b, (struct sb_call){ .name = name,
							 .category = CAT_MEMCPY,
							 .begin_us = 100,
							 .end_us = host_end,
							 .copy = copy,
							 .bytes = bytes });
	sb_work(&f->b, (struct sb_work){ .name = "Memcpy",
					 .kind = WORK_MEMCPY,
					 .begin_us = begin,
					 .end_us = end,
					 .call = call,
					 .source = source,
					 .target = target,
					 .bytes = bytes });
	return wait_of_first(f);
}

enum { PAGEABLE = 1, PINNED, DEVICE };

#define COPY(test, expected, ...)                                     \
	static void test(void **state)                                \
	{                                                             \
		assert_int_equal(copy(state, __VA_ARGS__), expected); \
	}
COPY(copy_synchronous, WAIT_COPY, "cudaMemcpy", COPY_D2H, DEVICE, PINNED, 300, 250, 299, 4)
COPY(copy_within_the_device, WAIT_NONE, "cudaMemcpy", COPY_D2D, DEVICE, DEVICE, 104, 110, 150, 4)
/* However late the call came back. */
COPY(copy_within_the_device_that_came_back_late, WAIT_NONE, "cudaMemcpyAsync", COPY_D2D, DEVICE,
     DEVICE, 300, 250, 299, 4)
COPY(copy_out_to_pageable, WAIT_COPY, "cudaMemcpyAsync", COPY_D2H, DEVICE, PAGEABLE, 300, 250, 299,
     4)
COPY(copy_out_to_pinned, WAIT_NONE, "cudaMemcpyAsync", COPY_D2H, DEVICE, PINNED, 104, 250, 299, 4)
COPY(copy_in_small, WAIT_NONE, "cudaMemcpyAsync", COPY_H2D, PAGEABLE, DEVICE, 110, 105, 112, 1024)
COPY(copy_in_from_pageable, WAIT_COPY, "cudaMemcpyAsync", COPY_H2D, PAGEABLE, DEVICE, 300, 250, 299,
     1 << 20)
COPY(copy_that_came_back_before, WAIT_NONE, "cudaMemcpy", COPY_H2D, PAGEABLE, DEVICE, 110, 250, 299,
     1 << 20)
COPY(copy_that_blocked_all_the_same, WAIT_COPY, "cudaMemcpyAsync", COPY_D2H, DEVICE, PINNED, 300,
     250, 299, 1 << 20)

/* A kernel until 200 us, then this call from 100 us on. */
static uint8_t memory_call(void **state, const char *name, uint8_t category, uint8_t space,
			   double end)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 10, 20, 200, 0);
	sb_call(&f->b, (struct sb_call){ .name = name,
					 .category = category,
					 .begin_us = 100,
					 .end_us = end,
					 .handle = 0x7000,
					 .space = space });
	sb_end(&f->b, &f->a);
	return f->a.timeline.calls.at[1].wait;
}

static void free_waits(void **state)
{
	assert_int_equal(memory_call(state, "cudaFree", CAT_FREE, SPACE_DEVICE, 205), WAIT_ALLOC);
}

static void free_that_did_not(void **state)
{
	assert_int_equal(memory_call(state, "cudaFree", CAT_FREE, SPACE_DEVICE, 120), WAIT_NONE);
}

static void free_in_stream_order(void **state)
{
	assert_int_equal(memory_call(state, "cudaFreeAsync", CAT_FREE, SPACE_POOL, 205), WAIT_NONE);
}

static void malloc_that_waits(void **state)
{
	assert_int_equal(memory_call(state, "cudaMalloc", CAT_ALLOC, SPACE_DEVICE, 230),
			 WAIT_ALLOC);
}

static void malloc_that_does_not(void **state)
{
	assert_int_equal(memory_call(state, "cudaMalloc", CAT_ALLOC, SPACE_DEVICE, 130), WAIT_NONE);
}

static void overheads_by_thread(void **state)
{
	struct fixture *f = *state;
	vec_push(&f->b.tables.threads,
		 (struct run_thread){ .slot = 1, .tid = 1, .handle = 0xbeef });
	sb_launch(&f->b, 10, 20, 30, 0);
	vec_push(&f->b.m.overheads, (struct model_overhead){ 5000, 6000, 0xbeef, 1 });
	vec_push(&f->b.m.overheads, (struct model_overhead){ 1000, 4000, 1, 5 });
	vec_push(&f->b.m.overheads, (struct model_overhead){ 2000, 4000, 99, 2 });
	sb_end(&f->b, &f->a);
	assert_int_equal(f->a.timeline.overheads.n, 3);
	assert_int_equal(f->a.timeline.overheads.at[0].begin_ns, 1000);
	assert_int_equal(f->a.timeline.overheads.at[0].thread, 0);
	assert_int_equal(f->a.timeline.overheads.at[1].thread, TIMELINE_NO_THREAD);
	assert_int_equal(f->a.timeline.overheads.at[2].thread, 0);
	assert_int_equal(f->a.timeline.steps.at[0].overhead_ns, 3000);
}

static void orders(void **state)
{
	struct order_key keys[500];
	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		size_t n = round * 10;
		unsigned random = round + 1;
		for (uint32_t i = 0; i < n; i++) {
			random = random * 1103515245 + 12345;
			keys[i] = (struct order_key){ random >> 16 & (round % 2 ? 7 : 1023), i };
		}
		order_sort(keys, n);
		for (size_t i = 1; i < n; i++)
			assert_true(keys[i - 1].ns < keys[i].ns ||
				    (keys[i - 1].ns == keys[i].ns &&
				     keys[i - 1].index < keys[i].index));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_loop_of_queries_is_a_wait),
		TEST(one_order),
		TEST(steps_side_by_side),
		TEST(work_of_a_killed_process),
		TEST(looked_up_once),
		TEST(facts_of_a_stack),
		TEST(waits_by_name),
		TEST(copy_synchronous),
		TEST(copy_within_the_device),
		TEST(copy_within_the_device_that_came_back_late),
		TEST(copy_out_to_pageable),
		TEST(copy_out_to_pinned),
		TEST(copy_in_small),
		TEST(copy_in_from_pageable),
		TEST(copy_that_came_back_before),
		TEST(copy_that_blocked_all_the_same),
		TEST(free_waits),
		TEST(free_that_did_not),
		TEST(free_in_stream_order),
		TEST(malloc_that_waits),
		TEST(malloc_that_does_not),
		TEST(overheads_by_thread),
		cmocka_unit_test(orders),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
