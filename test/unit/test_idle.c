/*
 * Every gap of a device has its cause: one hand-made step per cause, and random ones whose sums
 * must agree.
 */
#include "test/unit/idle_made.h"

#include <time.h>

/* Busy to 300; the wait for it blocks from 20 to 305; the next kernel runs from 340 to the end. */
static void cause_sync(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 305, 2);
	sb_launch(&f->b, 330, 340, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 40, 1e-6);
	assert_int_equal(site_of(f, IDLE_SYNC), 20);
	assert_int_equal(f->f.syncs.n, 1);
	assert_float_equal(f->f.syncs.at[0].gpu_idle_ms, 0.040, 1e-9);
	assert_float_equal(f->f.syncs.at[0].blocked_ms, 0.285, 1e-9);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_EXPLICIT);
}

/*
 * The wait held the host up for only 15 us; the device would have waited for the rest of the 100 in
 * any case.
 */
static void no_more_than_it_blocked(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 290, 305, 2);
	sb_launch(&f->b, 390, 400, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 15, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 85, 1e-6);
	assert_int_equal(site_of(f, IDLE_LAUNCH), 30);
}

/* The device was idle before anybody waited. */
static void sync_of_an_idle_device(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 200, 204, 2);
	sb_launch(&f->b, 390, 400, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 4, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 296, 1e-6);
}

/* The second wait comes for free behind the first. */
static void hidden_sync(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 305, 2);
	call(f, "cudaDeviceSynchronize", CAT_SYNC, 310, 312, 3);
	sb_launch(&f->b, 330, 340, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 40, 1e-6);
	assert_int_equal(f->f.syncs.n, 2);
	assert_float_equal(f->f.syncs.at[0].gpu_idle_ms, 0.038, 1e-9);
	assert_float_equal(f->f.syncs.at[1].gpu_idle_ms, 0.002, 1e-9);
}

static void cause_launch(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 10; i++)
		sb_launch(&f->b, i * 100, i * 100 + 10, i * 100 + 40, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 700, 1e-6);
	assert_int_equal(site_of(f, IDLE_LAUNCH), 30);
}

/* Kernels wait in the queue: their gaps are the device's own, whatever wait came before. */
static void between_queued_kernels(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 99, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 4, 100, 2);
	for (int i = 0; i < 5; i++)
		sb_launch(&f->b, 100 + i * 4, 110 + i * 178, 286 + i * 178, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 11 + 2, 1e-6); /* the last 2: the step's end */
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 4 * 2, 1e-6);
}

/* Behind a long pause 4 kB are copied to the device by that stack. */
static void copy_behind_a_pause(struct fixture *f, uint32_t stack)
{
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 305, 2);
	for (int i = 0; i < 4; i++)
		call(f, "cudaEventRecord", CAT_EVENT, 306 + i, 306.5 + i, 2);
	call(f, "cudaMalloc", CAT_ALLOC, 700, 705, 3);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 706, 709, 715, 800, 4096, stack);
	sb_launch(&f->b, 712, 800, 1000, 3);
	finish(f);
}

/* Before a copy a program may compute anything. What the wait does not explain is host code. */
static void no_input_by_copy(void **state)
{
	struct fixture *f = *state;
	copy_behind_a_pause(f, 3);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_float_equal(idle_us(f, IDLE_ALLOC), 5, 1e-6);
	assert_float_equal(idle_us(f, IDLE_SYNC), 285, 1e-6);
	assert_float_equal(idle_us(f, IDLE_HOST), 700 - 309.5 - (285 - 5 - 1), 5);
}

/*
 * The next batch is made after the last recorded call. A loader's copy is the next step's first
 * call, as in this step.
 */
static void cause_input_after_the_last_call(void **state)
{
	struct fixture *f = *state;
	copy(f, "cudaMemcpyAsync", COPY_H2D, 2, 5, 6, 10, 4096, 4);
	for (int i = 0; i < 4; i++)
		call(f, "cudaEventRecord", CAT_EVENT, 6 + i, 6.5 + i, 2);
	sb_launch(&f->b, 10, 15, 300, 1);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 700, 1e-6);
}

/*
 * The same holds if the last recorded call comes between the batch and its copy: a query, an event.
 */
static void cause_input_before_the_last_call(void **state)
{
	struct fixture *f = *state;
	copy(f, "cudaMemcpyAsync", COPY_H2D, 2, 5, 6, 10, 4096, 4);
	for (int i = 0; i < 4; i++)
		call(f, "cudaEventRecord", CAT_EVENT, 6 + i, 6.5 + i, 2);
	sb_launch(&f->b, 10, 15, 300, 1);
	call(f, "cudaEventQuery", CAT_QUERY, 960, 961, 2);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 660, 1e-6);
}

/* The same without a batch: the host's own time. */
static void no_input_after_the_last_call(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 4; i++)
		call(f, "cudaEventRecord", CAT_EVENT, 6 + i, 6.5 + i, 2);
	sb_launch(&f->b, 10, 15, 300, 1);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
}

static void cause_input_by_frames(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	call(f, "cudaEventRecord", CAT_EVENT, 101, 102, 1);
	call(f, "cudaEventRecord", CAT_EVENT, 103, 104, 1);
	call(f, "cudaEventRecord", CAT_EVENT, 600, 601, 4);
	sb_launch(&f->b, 602, 610, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_INPUT), 600 - 104, 1e-6);
}

/*
 * Gloo's exchange: a copy to the host, a wait for it, the exchange with other ranks, and a copy
 * back, which is no batch.
 */
static void cause_exchange(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	copy(f, "cudaMemcpyAsync", COPY_D2H, 10, 13, 100, 110, 4096, 6);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 14, 112, 6);
	call(f, "cudaEventRecord", CAT_EVENT, 115, 116, 6);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 616, 619, 620, 630, 4096, 6);
	sb_launch(&f->b, 622, 630, 1000, 3);
	finish(f);
	assert_true(idle_us(f, IDLE_COLLECTIVE) >= 616 - 116);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
}

static void cause_alloc_that_waits(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaFree", CAT_FREE, 20, 310, 2);
	sb_launch(&f->b, 330, 340, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_ALLOC), 40, 1e-6);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_ALLOC);
}

static void cause_alloc_that_takes_its_time(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	call(f, "cudaMalloc", CAT_ALLOC, 150, 300, 2);
	sb_launch(&f->b, 330, 340, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_ALLOC), 150, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 90, 1e-6);
}

static void cause_copy(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	copy(f, "cudaMemcpy", COPY_D2H, 20, 505, 100, 500, 1 << 20, 2);
	sb_launch(&f->b, 530, 540, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_COPY), 40, 1e-6);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_COPY);
}

/* From pinned memory it would not have waited at all. */
static void cause_copy_from_pageable_memory(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 490, 1);
	copy(f, "cudaMemcpyAsync", COPY_H2D, 20, 505, 490, 500, 1 << 20, 2);
	sb_launch(&f->b, 530, 540, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_COPY), 40, 1e-6);
}

/* Four bytes are not what took so long: the work before them was waited for. */
static void reading_a_value(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 498, 1);
	copy(f, "cudaMemcpyAsync", COPY_D2H, 20, 503, 498, 500, 4, 2);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 504, 506, 2);
	sb_launch(&f->b, 530, 540, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_SYNC), 40, 1e-6);
	assert_int_equal(f->f.syncs.n, 1);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_ITEM);
	assert_float_equal(f->f.syncs.at[0].per_step, 1, 1e-9);
	assert_float_equal(f->f.syncs.at[0].blocked_ms, 0.485, 1e-9);
	assert_string_equal(f->f.syncs.at[0].api, "cudaStreamSynchronize");
}

/* A wait for the whole device is one of its own, whatever was copied before it. */
static void waiting_for_the_device(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 498, 1);
	copy(f, "cudaMemcpyAsync", COPY_D2H, 20, 23, 498, 500, 4, 2);
	call(f, "cudaDeviceSynchronize", CAT_SYNC, 24, 506, 2);
	sb_launch(&f->b, 530, 540, 1000, 3);
	finish(f);
	assert_int_equal(f->f.syncs.n, 1);
	assert_int_equal(f->f.syncs.at[0].kind, SYNC_EXPLICIT);
	assert_float_equal(f->f.syncs.at[0].blocked_ms, 0.482, 1e-9);
	assert_string_equal(f->f.syncs.at[0].api, "cudaDeviceSynchronize");
}

static void cause_module_by_a_long_launch(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	uint32_t number = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
							   .category = CAT_LAUNCH,
							   .begin_us = 120,
							   .end_us = 620,
							   .stack = 2 });
	sb_work(&f->b, (struct sb_work){ .name = "k",
					 .begin_us = 625,
					 .end_us = 1000,
					 .call = number,
					 .stream = 7 });
	finish(f);
	assert_float_equal(idle_us(f, IDLE_MODULE), 500, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 25, 1e-6);
}

/* Only the first launch of a graph loads code. Later ones take as long as the graph has nodes. */
static void causes_by_long_launches_of_a_graph(void **state)
{
	for (int is_first = 0; is_first < 2; is_first++) {
		struct fixture *f = *state;
		sb_launch(&f->b, 0, 0, 100, 1);
		uint32_t number = sb_call(&f->b, (struct sb_call){ .name = "cudaGraphLaunch",
								   .category = CAT_GRAPH,
								   .begin_us = 120,
								   .end_us = 620,
								   .stack = 2 });
		f->b.m.calls.at[number].is_first_replay = is_first;
		sb_work(&f->b, (struct sb_work){ .name = "k",
						 .begin_us = 625,
						 .end_us = 1000,
						 .call = number,
						 .stream = 7,
						 .graph = 3 });
		finish(f);
		assert_float_equal(idle_us(f, IDLE_MODULE), is_first ? 500 : 0, 1e-6);
		assert_float_equal(idle_us(f, IDLE_LAUNCH), is_first ? 25 : 525, 1e-6);
		tear_down(state);
		set_up(state);
	}
}

static void overhead(struct fixture *f, double begin, double end, uint16_t what)
{
	vec_push(&f->b.m.overheads, (struct model_overhead){ (uint64_t)(begin * 1000),
							     (uint64_t)(end * 1000), 1, what });
}

static void causes_by_overheads(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	overhead(f, 90, 150, 1);
	overhead(f, 200, 300, 5);
	overhead(f, 400, 420, 6);
	sb_launch(&f->b, 490, 500, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_PROFILER), 50, 1e-6);
	assert_float_equal(idle_us(f, IDLE_MODULE), 100, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 250, 1e-6);
}

static void cause_collective(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 400, 5);
	sb_launch(&f->b, 410, 420, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_COLLECTIVE), 120, 1e-6);
}

/* Launched long ago, and still it does not start: something that is not on this device keeps it. */
static void cause_unknown(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 100, 1);
	sb_launch(&f->b, 10, 600, 1000, 3);
	finish(f);
	assert_float_equal(idle_us(f, IDLE_DELAY), 500, 1e-6);
	assert_int_equal(site_of(f, IDLE_DELAY), 30);
}

/*
 * The main thread waits, the other one continues to launch: there are two lanes, and the launch's
 * own lane explains it.
 */
static void the_launching_thread_counts(void **state)
{
	struct fixture *f = *state;
	uint32_t number = 0;
	call(f, "cudaEventSynchronize", CAT_SYNC, 0, 900, 2);
	for (int i = 0; i < 9; i++) {
		number = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
							  .category = CAT_LAUNCH,
							  .begin_us = i * 100,
							  .end_us = i * 100 + 4,
							  .tid = 2,
							  .stack = 3 });
		sb_work(&f->b, (struct sb_work){ .name = "k",
						 .begin_us = i * 100 + 10,
						 .end_us = i * 100 + 50,
						 .call = number,
						 .stream = 7 });
	}
	finish(f);
	assert_true(idle_us(f, IDLE_LAUNCH) > 500);
	assert_float_equal(idle_us(f, IDLE_SYNC), 0, 1e-6);
}

/*
 * Forward on one thread, backward on another, as in PyTorch: the thread that waited is charged to
 * the one it waited for.
 */
static void threads_that_take_turns(void **state)
{
	struct fixture *f = *state;
	struct lanes lanes;
	sb_launch(&f->b, 0, 0, 300, 1);
	call(f, "cudaStreamSynchronize", CAT_SYNC, 20, 305, 2);
	uint32_t number = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
							   .category = CAT_LAUNCH,
							   .begin_us = 330,
							   .end_us = 333,
							   .tid = 2,
							   .stack = 3 });
	sb_work(&f->b, (struct sb_work){ .name = "k",
					 .begin_us = 340,
					 .end_us = 1000,
					 .call = number,
					 .stream = 7 });
	finish(f);
	lanes_find(&lanes, &f->a.timeline);
	assert_int_equal(lanes.n, 1);
	lanes_free(&lanes);
	assert_float_equal(idle_us(f, IDLE_SYNC), 40, 1e-6);
}

/* Makes a call of `tid` that launches work. */
static void launch_of(struct fixture *f, uint32_t tid, double begin_us, double end_us)
{
	uint32_t number = sb_call(&f->b, (struct sb_call){ .name = "cudaLaunchKernel",
							   .category = CAT_LAUNCH,
							   .begin_us = begin_us,
							   .end_us = end_us,
							   .tid = tid,
							   .stack = 3 });
	sb_work(&f->b, (struct sb_work){ .name = "k",
					 .begin_us = end_us,
					 .end_us = end_us + 1,
					 .call = number,
					 .stream = 7 });
}

/*
 * As with DistributedDataParallel over gloo: the main thread takes turns with the autograd thread,
 * and with a thread of gloo, which overlaps with the autograd thread. It was seen before that one.
 */
static void threads_join_the_one_that_launches_most(void **state)
{
	enum { MAIN = 1, GLOO, AUTOGRAD };
	struct fixture *f = *state;
	struct lanes lanes;
	launch_of(f, MAIN, 0, 10);
	launch_of(f, GLOO, 20, 30);
	for (int i = 0; i < 4; i++)
		launch_of(f, AUTOGRAD, 100 + i * 20, 110 + i * 20);
	launch_of(f, GLOO, 125, 135);
	launch_of(f, MAIN, 200, 210);
	finish(f);
	lanes_find(&lanes, &f->a.timeline);
	uint32_t lane_of[AUTOGRAD + 1] = { 0 };
	for (size_t i = 0; i < f->a.timeline.threads.n; i++)
		lane_of[f->a.timeline.threads.at[i].tid] = lanes.of_thread[i];
	assert_int_equal(lanes.n, 2);
	assert_int_equal(lane_of[MAIN], lane_of[AUTOGRAD]);
	assert_int_equal(lanes.main, lane_of[MAIN]);
	assert_int_not_equal(lane_of[GLOO], lane_of[MAIN]);
	lanes_free(&lanes);
}

/*
 * A loader's thread pins batches ahead, and queries whether the last one has arrived, while the
 * main thread is between two launches.
 */
static void a_thread_alongside(void **state)
{
	struct fixture *f = *state;
	struct lanes lanes;
	sb_launch(&f->b, 0, 0, 300, 1);
	const char *names[] = { "cudaEventQuery", "cudaHostAlloc" };
	const uint8_t categories[] = { CAT_QUERY, CAT_ALLOC };
	for (int i = 0; i < 2; i++)
		sb_call(&f->b, (struct sb_call){ .name = names[i],
						 .category = categories[i],
						 .begin_us = 400 + i * 100,
						 .end_us = 401 + i * 100,
						 .tid = 2,
						 .stack = 4 });
	sb_launch(&f->b, 690, 700, 1000, 3);
	finish(f);
	lanes_find(&lanes, &f->a.timeline);
	assert_int_equal(lanes.n, 2);
	lanes_free(&lanes);
	assert_float_equal(idle_us(f, IDLE_INPUT), 0, 1e-6);
	assert_float_equal(idle_us(f, IDLE_LAUNCH), 400, 1e-6);
}

/* A step's work that runs in the next one keeps that busy. */
static void work_across_a_boundary(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 0, 0, 1500, 1);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1490, 1510, 2500, 1);
	finish(f);
	assert_int_equal(f->f.gpus.at[0].span_ns, 2000000);
	assert_int_equal(f->f.gpus.at[0].idle_ns, 10000);
	assert_float_equal(f->f.gpus.at[0].idle_ms, 0.005, 1e-9);
	idle_us(f, IDLE_LAUNCH);
}

/* So does work of a step that was not recorded. */
static void work_from_before(void **state)
{
	struct fixture *f = *state;
	vec_push(&f->b.m.earlier, (struct model_earlier){ 0, 200000, 0 });
	vec_push(&f->b.m.earlier, (struct model_earlier){ 210000, 390000, 0 });
	sb_launch(&f->b, 10, 400, 1000, 1);
	finish(f);
	assert_int_equal(f->f.gpus.at[0].idle_ns, 20000);
	assert_int_equal(f->f.gpus.at[0].span_ns, 1000000);
	assert_float_equal(f->f.gpus.at[0].kernels, 1, 1e-9);
	idle_us(f, IDLE_LAUNCH);
}

/*
 * The queue was full of unrecorded work when these steps began: none of their own work runs in
 * them.
 */
static void work_from_long_before(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 10, 5000, 7000, 1);
	finish(f);
	assert_int_equal(f->f.gpus.at[0].idle_ns, 0);
	assert_int_equal(f->f.gpus.at[0].busy_ns, 1000000);
	assert_float_equal(f->f.gpus.at[0].before_ms, 1, 1e-9); /* what a step gives is the rest */
	assert_float_equal(f->f.gpus.at[0].late_ms, 2, 1e-9);
}

/* The queue outlasts the first step, as it does when the CPU launches many short steps ahead. */
static void work_from_long_before_in_two_steps(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 10, 5000, 7000, 1);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1010, 7000, 9000, 1);
	finish(f);
	assert_int_equal(f->f.gpus.at[0].idle_ns, 0);
	assert_int_equal(f->f.gpus.at[0].busy_ns, 2000000);
	assert_float_equal(f->f.gpus.at[0].before_ms, 1, 1e-9);
	assert_float_equal(f->f.gpus.at[0].late_ms, 2, 1e-9);
}

/*
 * Work launched in two consecutive steps that runs in the second one and after it; and the same for
 * two steps that are not consecutive.
 */
static void work_after_the_steps(void **state)
{
	struct fixture *f = *state;
	sb_launch(&f->b, 10, 900, 1500, 1);
	end_step(f);
	sb_step(&f->b, 6, 1000, 2000);
	sb_launch(&f->b, 1010, 1500, 5000, 1);
	finish(f);
	assert_float_equal(f->f.gpus.at[0].late_ms, 3.0 / 2, 1e-9);
	assert_float_equal(f->f.gpus.at[0].busy_ms, 1.1 / 2, 1e-9);
	assert_float_equal(f->f.gpus.at[0].before_ms, 0, 1e-9);
}

/* ---- At random ---- */

static unsigned seed;

static unsigned pick(unsigned n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void random_call(struct fixture *f, double at, double length)
{
	static const struct sb_call kinds[] = {
		{ .name = "cudaStreamSynchronize", .category = CAT_SYNC },
		{ .name = "cudaEventSynchronize", .category = CAT_SYNC },
		{ .name = "cudaMalloc", .category = CAT_ALLOC, .space = SPACE_DEVICE },
		{ .name = "cudaFree", .category = CAT_FREE, .space = SPACE_DEVICE, .handle = 1 },
		{ .name = "cudaEventRecord", .category = CAT_EVENT },
		{ .name = "cuModuleGetFunction", .category = CAT_CONTROL },
		{ .name = "cudaMemcpy", .category = CAT_MEMCPY, .copy = COPY_D2H, .bytes = 4 },
		{ .name = "cudaMemcpyAsync",
		  .category = CAT_MEMCPY,
		  .copy = COPY_H2D,
		  .bytes = 9999 },
		{ .name = "cudaLaunchKernel", .category = CAT_LAUNCH },
	};
	unsigned kind = pick(14);
	struct sb_call c = kinds[kind < 8 ? kind : 8];
	c.begin_us = at;
	c.end_us = at + length;
	c.tid = 1 + pick(3);
	c.stack = pick(6);
	uint32_t number = sb_call(&f->b, c);
	if (!category_has_work(c.category))
		return;
	for (unsigned i = 0; i < 1 + pick(2); i++) {
		double begin = at + pick(200);
		sb_work(&f->b, (struct sb_work){ .name = pick(9) ? "k" : "ncclKernel",
						 .kind = c.category == CAT_MEMCPY ? WORK_MEMCPY
										  : WORK_KERNEL,
						 .begin_us = begin,
						 .end_us = begin + pick(150),
						 .call = pick(20) ? number : MODEL_NO_CALL,
						 .stream = 7 + pick(3),
						 .device = pick(2),
						 .bytes = c.bytes,
						 .source = (uint8_t)pick(4),
						 .target = (uint8_t)pick(4) });
	}
}

static void random_step(struct fixture *f, uint64_t number)
{
	double begin = (double)number * 10000, at = begin;
	sb_step(&f->b, number, begin, begin + 10000);
	for (unsigned i = 0; i < 200 && at < begin + 9900; i++) {
		double length = pick(27);
		random_call(f, at, length);
		at += pick(3) ? length + pick(30) : pick(20);
	}
	for (unsigned i = 0; i < pick(6); i++) {
		double from = begin + pick(10000);
		overhead(f, from, from + pick(400), (uint16_t)pick(9));
	}
	for (unsigned i = 0; f->b.m.calls.n && i < pick(60); i++)
		sb_sample(&f->b, begin + pick(10000), 1 + pick(4), pick(SAMPLE_STATES), pick(6));
	end_step(f);
}

/* Busy time counted the slow way, microsecond by microsecond. */
static uint64_t slow_busy_ns(const struct timeline *t, uint32_t device)
{
	uint64_t busy_ns = 0;
	for (size_t s = 0; s < t->steps.n; s++) {
		size_t n = t->steps.at[s].end_ns - t->steps.at[s].begin_ns;
		uint8_t *is_busy = mem_zero(n / 1000);
		for (size_t i = 0; i < t->works.n && t->steps.at[s].has_gpu; i++) {
			const struct timeline_work *w = &t->works.at[i];
			for (uint64_t at = w->begin_ns; at < w->end_ns && w->device == device;
			     at += 1000)
				if (at >= t->steps.at[s].begin_ns && at < t->steps.at[s].end_ns)
					is_busy[(at - t->steps.at[s].begin_ns) / 1000] = 1;
		}
		for (size_t i = 0; i < n / 1000; i++)
			busy_ns += is_busy[i] ? 1000 : 0;
		free(is_busy);
	}
	return busy_ns;
}

static void books_balance(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct fixture *f = mem_zero(sizeof(*f));
		seed = round * 7919 + 1;
		analyzer_start(&f->a, &f->b.tables, NULL);
		for (uint64_t step = 0; step < 1 + pick(3); step++)
			random_step(f, step);
		summary_fill(&f->f, &f->a.timeline);
		assert_null(find_gap(f, "idle"));
		double sync_idle_ms = 0;
		for (size_t i = 0; i < f->f.gpus.n; i++) {
			const struct finding_gpu *gpu = &f->f.gpus.at[i];
			uint64_t sum_ns = 0;
			for (size_t k = 0; k < f->f.idle.n; k++)
				if (f->f.idle.at[k].device == gpu->device)
					sum_ns += f->f.idle.at[k].ns;
			assert_int_equal(sum_ns, gpu->idle_ns);
			assert_int_equal(gpu->busy_ns + gpu->idle_ns, gpu->span_ns);
			assert_int_equal(gpu->busy_ns, slow_busy_ns(&f->a.timeline, gpu->device));
			sync_idle_ms += gpu->idle_ms;
		}
		for (size_t i = 0; i < f->f.syncs.n; i++)
			sync_idle_ms -= f->f.syncs.at[i].gpu_idle_ms;
		assert_true(sync_idle_ms > -1e-6);
		findings_free(&f->f);
		analyzer_free(&f->a);
		sb_free(&f->b);
		free(f);
	}
}

static void causes_are_found_by_name(void **state)
{
	(void)state;
	for (int cause = 0; cause < IDLE_CAUSES_N; cause++) {
		const struct idle_cause_row *row = &idle_causes[cause];
		assert_ptr_equal(idle_cause_find(row->name), row);
		assert_true(*row->name && *row->noun && *row->meaning);
	}
	assert_string_equal(idle_causes[IDLE_SYNC].name, "sync");
	assert_string_equal(idle_causes[IDLE_UNKNOWN].name, "unknown");
	assert_null(idle_cause_find("syn"));
	assert_null(idle_cause_find(""));
}

enum { QUEUED = 2000, SHORT_STEPS = 300 };

/* Returns the CPU time of short steps while `n` times QUEUED kernels are queued. */
static clock_t time_with_queue(void **state, uint64_t n)
{
	struct fixture *f;
	set_up(state);
	f = *state;
	end_step(f);
	for (uint64_t k = 0; k < n; k++) {
		sb_step(&f->b, 6 + k, 1000 + (double)k, 1001 + (double)k);
		for (int i = 0; i < QUEUED; i++)
			sb_launch(&f->b, 1000 + (double)k, 1e6, 1e6 + i, 3);
		sb_end(&f->b, &f->a);
	}
	clock_t begun = clock();
	for (uint64_t k = n; k < n + SHORT_STEPS; k++) {
		sb_step(&f->b, 6 + k, 1000 + (double)k, 1001 + (double)k);
		sb_launch(&f->b, 1000 + (double)k, 1000.2 + (double)k, 1000.8 + (double)k, 3);
		sb_end(&f->b, &f->a);
	}
	clock_t spent = clock() - begun;
	tear_down(state);
	return spent;
}

/* Each step used to copy and sort all that was queued, so 50 times as much took as much longer. */
static void much_queued_work(void **state)
{
	tear_down(state);
	clock_t few = time_with_queue(state, 1), many = time_with_queue(state, 50);
	set_up(state);
	assert_true(many < few * 10 + CLOCKS_PER_SEC / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(causes_are_found_by_name),
		TEST(cause_sync),
		TEST(no_more_than_it_blocked),
		TEST(sync_of_an_idle_device),
		TEST(hidden_sync),
		TEST(cause_launch),
		TEST(between_queued_kernels),
		TEST(no_input_by_copy),
		TEST(cause_input_after_the_last_call),
		TEST(cause_input_before_the_last_call),
		TEST(no_input_after_the_last_call),
		TEST(cause_input_by_frames),
		TEST(much_queued_work),
		TEST(cause_exchange),
		TEST(cause_alloc_that_waits),
		TEST(cause_alloc_that_takes_its_time),
		TEST(cause_copy),
		TEST(cause_copy_from_pageable_memory),
		TEST(reading_a_value),
		TEST(waiting_for_the_device),
		TEST(cause_module_by_a_long_launch),
		TEST(causes_by_long_launches_of_a_graph),
		TEST(causes_by_overheads),
		TEST(cause_collective),
		TEST(cause_unknown),
		TEST(the_launching_thread_counts),
		TEST(threads_that_take_turns),
		TEST(threads_join_the_one_that_launches_most),
		TEST(a_thread_alongside),
		TEST(work_across_a_boundary),
		TEST(work_from_before),
		TEST(work_from_long_before),
		TEST(work_from_long_before_in_two_steps),
		TEST(work_after_the_steps),
		cmocka_unit_test(books_balance),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
