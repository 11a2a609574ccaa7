#include "test/unit/twin_programs.h"

#include <math.h>

/* A launch of `gpu_us` in each layer and a wait after it, then an update. */
static void layers(struct twin *tw, double host_us, double gpu_us, double update_us)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, host_us);
		twin_launch(tw, 1, gpu_us, "layer", 1 + (uint32_t)i);
		if (!tw->is_fixed)
			twin_wait_stream(tw, 1, WAIT);
	}
	twin_host(tw, update_us);
	twin_launch(tw, 1, 10, "update", NEXT);
}

/* A wait in every layer; the device has more to do than the host. */
void device_bound(struct twin *tw)
{
	layers(tw, 20, 60, 15);
}

/* The same with a host that has more to do. */
void host_bound(struct twin *tw)
{
	layers(tw, 50, 15, 30);
}

/* As device_bound, but for an event that is asked over and over. */
void polling(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 20);
		twin_launch(tw, 1, 60, "layer", 1 + (uint32_t)i);
		twin_record_event(tw, 1, 3, 2);
		if (!tw->is_fixed)
			twin_poll_event(tw, 3, WAIT);
	}
	twin_host(tw, 15);
	twin_launch(tw, 1, 10, "update", NEXT);
}

/* Two waits, one behind the other: without the first alone nothing is won. */
void hidden(struct twin *tw)
{
	twin_host(tw, 300);
	twin_launch(tw, 1, 400, "long", 1);
	twin_record_event(tw, 1, 3, 2);
	if (!tw->is_fixed)
		twin_wait_event(tw, 3, WAIT);
	twin_wait_device(tw, OTHER_WAIT);
}

void hidden_both(struct twin *tw)
{
	twin_host(tw, 300);
	twin_launch(tw, 1, 400, "long", 1);
	twin_record_event(tw, 1, 3, 2);
	if (!tw->is_fixed) {
		twin_wait_event(tw, 3, WAIT);
		twin_wait_device(tw, OTHER_WAIT);
	}
}

/*
 * A value is copied out on one line and waited for on the next. If its memory is pageable, the copy
 * itself waits.
 */
static void read_value(struct twin *tw, bool is_pageable)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 20);
		twin_launch(tw, 1, 60, "layer", 1 + (uint32_t)i);
		if (tw->is_fixed)
			continue;
		twin_copy(tw, 1, COPY_D2H, 8, 2, is_pageable, COPY);
		twin_wait_stream(tw, 1, WAIT);
	}
}

void read_on_two_lines(struct twin *tw)
{
	read_value(tw, false);
}

void read_on_two_lines_pageable(struct twin *tw)
{
	read_value(tw, true);
}

/*
 * A batch is copied from pageable memory. Fixed: from pinned memory, while the kernels of the step
 * before run.
 */
void blocking_copy(struct twin *tw)
{
	twin_host(tw, 40);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 90, !tw->is_fixed, COPY);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
}

/*
 * A few numbers are copied in the middle of a step: the host, which was ahead, waits for all work
 * before them.
 */
void constants(struct twin *tw)
{
	const uint64_t bytes = 16;
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
	twin_copy(tw, 1, COPY_H2D, bytes, 2, !tw->is_fixed, COPY);
	twin_host(tw, 40);
}

/* A batch where pinned memory is four times as fast, as a copy on another stream shows. */
void pageable_batch(struct twin *tw)
{
	twin_host(tw, 40);
	twin_copy(tw, 2, COPY_H2D, 4 << 20, 50, false, 3);
	twin_copy(tw, 1, COPY_H2D, 8 << 20, tw->is_fixed ? 100 : 400, !tw->is_fixed, COPY);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
}

void allocating(struct twin *tw)
{
	if (!tw->is_fixed)
		twin_malloc(tw, 60, MALLOC);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 25);
		twin_launch(tw, 1, 35, "layer", 1 + (uint32_t)i);
	}
	if (!tw->is_fixed)
		twin_free_memory(tw, 40, FREE);
}

/* Memory is returned to the driver in each step, which takes less time than asking for it again. */
void giving_back(struct twin *tw)
{
	if (!tw->is_fixed)
		twin_malloc(tw, 150, MALLOC);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 25);
		twin_launch(tw, 1, 10, "layer", 1 + (uint32_t)i);
	}
	if (!tw->is_fixed)
		twin_free_memory(tw, 60, FREE);
}

/*
 * All of a result is fetched in each step, and the host waits for it before it continues. Fixed: it
 * looks at it later.
 */
void fetching(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
	twin_copy(tw, 1, COPY_D2H, 1 << 20, 40, !tw->is_fixed, COPY);
	twin_host(tw, 100);
}

/* The steps are cut in front of the copy, and not of the pause in which its batch was made. */
void slow_input_behind(struct twin *tw)
{
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
	twin_host(tw, tw->is_fixed ? 12 : 900);
}

/* The same, and between the batch and its copy a call is made, the step's last one. */
void slow_input_asked(struct twin *tw)
{
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
	if (!tw->is_fixed)
		twin_host(tw, 900);
	twin_record_event(tw, 1, 1, NEXT);
}

/* Two streams that go side by side but for the events between them; the wait belongs to neither. */
void two_streams(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 10);
		twin_launch(tw, 1, 70, "left", 1);
		twin_record_event(tw, 1, 1, 2);
		twin_launch(tw, 2, 20, "right", 3);
		if (!tw->is_fixed)
			twin_stream_wait(tw, 2, 1, WAIT);
		twin_launch(tw, 2, 60, "joined", 4);
		twin_record_event(tw, 2, 2, 5);
		twin_stream_wait(tw, 1, 2, 6);
	}
}

/* One stream waits for all of the other's work, though it needs none of it. */
void taking_turns(struct twin *tw)
{
	twin_launch(tw, 1, 300, "left", 1);
	twin_record_event(tw, 1, 1, 2);
	if (!tw->is_fixed)
		twin_stream_wait(tw, 2, 1, WAIT);
	twin_launch(tw, 2, 280, "right", 3);
	twin_record_event(tw, 2, 2, 4);
	twin_stream_wait(tw, 1, 2, 5);
	twin_launch(tw, 1, 10, "joined", 6);
}

/* Kernels without any wait, host far ahead. */
static void lanes_with_legacy(struct twin *tw, double us)
{
	for (int round = 0; round < 2; round++)
		for (int i = 1; i <= 4; i++) {
			twin_launch(tw, i, us, "conv", 1);
			twin_launch(tw, i, us, "pool", 2);
			twin_launch(tw, TWIN_LEGACY, 4, "stamp", 3);
		}
}

/* Four streams would overlap, but a launch into the legacy stream keeps them apart. The waits cost
 * nothing but the time to begin the next step. */
void legacy_between(struct twin *tw)
{
	lanes_with_legacy(tw, 100);
	for (int i = 1; i <= 4 && !tw->is_fixed; i++)
		twin_wait_stream(tw, i, WAIT);
}

/* The same with faster kernels. */
void legacy_kernels(struct twin *tw)
{
	lanes_with_legacy(tw, tw->is_fixed ? 50 : 100);
	for (int i = 1; i <= 4; i++)
		twin_wait_stream(tw, i, WAIT);
}

/* The launch goes into the stream of the work before it. */
void legacy_moved(struct twin *tw)
{
	for (int round = 0; round < 2; round++)
		for (int i = 1; i <= 4; i++) {
			twin_launch(tw, i, 100, "conv", 1);
			twin_launch(tw, i, 100, "pool", 2);
			twin_launch(tw, tw->is_fixed ? i : TWIN_LEGACY, 4, "stamp", 3);
		}
	for (int i = 1; i <= 4; i++)
		twin_wait_stream(tw, i, WAIT);
}

void free_running(struct twin *tw)
{
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 5);
		twin_launch(tw, 1, tw->is_fixed ? 20 : 40, "gemm", 1);
		twin_launch(tw, 1, 10, "relu", 2);
	}
}

/* Far ahead of the device: its queue holds more steps than are recorded. */
void queue_full(struct twin *tw)
{
	tw->has_queue = true;
	free_running(tw);
}

void launch_bound(struct twin *tw)
{
	for (int i = 0; i < LAYERS * 4; i++) {
		twin_host(tw, 4);
		twin_launch(tw, 1, 1, "tiny", 1);
	}
}

/* Small kernels of two lines, 12 and 8, and 32 that the line with backward() makes. */
void launching_both_passes(struct twin *tw)
{
	for (int i = 0; i < BOTH_PASSES; i++) {
		uint32_t line = i < 12 ? FORWARD : i < FORWARD_LAUNCHES ? OTHER_FORWARD : BACKWARD;
		twin_host(tw, 4);
		twin_launch(tw, 1, 1, "tiny", line);
	}
}

/*
 * Many small kernels from one line, between which the device needs a moment. Fixed: only the last
 * of them takes host time, and they are as close as in a graph.
 */
void one_launch(struct twin *tw)
{
	const double in_graph = 0.096;
	tw->between = tw->is_fixed ? in_graph : 1.2;
	twin_host(tw, 100);
	for (int i = 0; i < LAYERS * 8; i++) {
		if (tw->is_fixed && i)
			tw->now[0] -= TWIN_ISSUE_US;
		twin_launch(tw, 1, 2, "tiny", 1);
	}
}

/* The same, and the host works between them. Fixed: only before the first one. */
void chatty_line(struct twin *tw)
{
	const double in_graph = 0.096;
	tw->between = tw->is_fixed ? in_graph : 1.2;
	twin_host(tw, 100);
	twin_launch(tw, 1, 1, "first", 2);
	for (int i = 0; i < LAYERS * 8; i++) {
		if (!tw->is_fixed)
			twin_host(tw, 6);
		else if (i)
			tw->now[0] -= TWIN_ISSUE_US;
		twin_launch(tw, 1, 1, "tiny", 1);
	}
}

static void take_batch(struct twin *tw)
{
	twin_host(tw, 10);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 40, false, BATCH);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 10);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
	twin_wait_device(tw, WAIT);
}

/* Each step reads its batch for a long time, then copies it. */
void slow_input(struct twin *tw)
{
	if (!tw->is_fixed)
		twin_host(tw, 500);
	take_batch(tw);
}

/* A loader copies the batch, and gets the next one before it hands this one on. */
void slow_loader(struct twin *tw)
{
	twin_host(tw, 12);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 20, false, LOADER);
	if (!tw->is_fixed)
		twin_host(tw, 900);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
}

/*
 * A loader thread pins the next batch while the program is between this batch's copy and its first
 * layer.
 */
void pinning_thread(struct twin *tw)
{
	twin_host(tw, tw->is_fixed ? 12 : 500);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	twin_record_event(tw, 1, 1, COPY);
	tw->thread = 1;
	tw->now[1] = tw->now[0] + 700;
	twin_poll_event(tw, 1, LOADERS_THREAD);
	tw->thread = 0;
	twin_host(tw, 1000);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
}

/* Only the loader's own calls, which no line of the user's makes, are seen of the wait for it. */
void lineless_loader(struct twin *tw)
{
	twin_record_event(tw, 1, 1, LOADERS_THREAD);
	twin_host(tw, tw->is_fixed ? 12 : 700);
	twin_record_event(tw, 1, 1, LOADERS_THREAD);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
}

/* Every other batch takes nine times as long to read. */
void uneven_input(struct twin *tw)
{
	if (!tw->is_fixed)
		twin_host(tw, tw->steps_made++ % 2 ? 900 : 100);
	take_batch(tw);
}

/* The host thinks for long, then launches from one line. */
void busy_before(struct twin *tw)
{
	twin_launch(tw, 1, 10, "first", NEXT);
	twin_host(tw, tw->is_fixed ? 10 : 600);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 4);
		twin_launch(tw, 1, 10, "layer", 1);
	}
}

void short_wait(struct twin *tw)
{
	twin_host(tw, 25);
	twin_launch(tw, 1, 25, "layer", 1);
	if (!tw->is_fixed)
		twin_wait_stream(tw, 1, WAIT);
}

static void input_and_launches(struct twin *tw, double input_us)
{
	enum { LAUNCHES = 48 };
	twin_host(tw, input_us);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 1, false, BATCH);
	for (int i = 0; i < LAUNCHES; i++) {
		twin_host(tw, 8);
		twin_launch(tw, 1, 1, "tiny", 1);
	}
}

/* A quarter of the step, and launches fill the rest. */
void some_input(struct twin *tw)
{
	input_and_launches(tw, tw->is_fixed ? 10 : 180);
}

/* An eighth. */
void a_little_input(struct twin *tw)
{
	input_and_launches(tw, tw->is_fixed ? 10 : 80);
}

/* A second thread waits for its own stream while the first goes on. */
void two_threads(struct twin *tw)
{
	double begin = tw->now[0];
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 60);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
	tw->thread = 1;
	tw->now[1] = fmax(tw->now[1], begin + 30);
	for (int i = 0; i < 3; i++) {
		twin_launch(tw, 2, 40, "alongside", 20);
		twin_wait_stream(tw, 2, OTHER_WAIT);
	}
	tw->thread = 0;
}

/* Slow input and a wait in every layer, about as bad as each other. */
void two_causes(struct twin *tw)
{
	if (!tw->is_fixed)
		twin_host(tw, 300);
	twin_host(tw, 10);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 20, false, BATCH);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 50);
		twin_launch(tw, 1, 50, "layer", 1 + (uint32_t)i);
		if (!tw->is_fixed)
			twin_wait_stream(tw, 1, WAIT);
	}
}

/*
 * In every third step the host's processor is taken away while it waits. Fixed: it loses that time
 * elsewhere.
 */
void disturbed(struct twin *tw)
{
	bool is_taken = tw->steps_made++ % 3 == 0;
	if (is_taken && !tw->is_fixed)
		tw->stall = 600;
	host_bound(tw);
	if (is_taken && tw->is_fixed)
		twin_host(tw, 600);
}

/*
 * Two buffers alternately: the next batch is made and copied while the device computes; the host
 * waits for the buffer that it fills.
 */
void prefetching(struct twin *tw)
{
	int slot = (int)(tw->steps_made & 1), copied = 3 + slot, next = 3 + !slot, used = 5 + slot;
	twin_stream_wait(tw, 2, used, 1);
	twin_copy(tw, 2, COPY_H2D, 1 << 23, 500, false, COPY);
	twin_record_event(tw, 2, copied, 2);
	twin_stream_wait(tw, 1, copied, 3);
	twin_launch(tw, 1, 900, "forward", 4);
	twin_launch(tw, 1, 300, "update", 5);
	twin_record_event(tw, 1, used, 6);
	twin_wait_event(tw, next, WAIT);
	twin_host(tw, 400);
	tw->steps_made++;
}

/* A wait in each step; in each fourth the machine has something else to do, fixed or not. */
void held_up(struct twin *tw)
{
	twin_launch(tw, 1, 300, "layer", 1);
	if (!tw->is_fixed)
		twin_wait_stream(tw, 1, WAIT);
	twin_host(tw, 50);
	if (tw->steps_made++ % 4 == 3)
		twin_host(tw, 5000);
}

/* Each fourth step fetches what is kept. */
void checkpoint(struct twin *tw)
{
	twin_host(tw, 200);
	twin_launch(tw, 1, 20, "layer", 1);
	if (tw->steps_made++ % 4 == 3)
		twin_copy(tw, 1, COPY_D2H, 1 << 23, 400, !tw->is_fixed, COPY);
}

/* Before the copy of each fourth step, at the end of the one before, the host is busy. */
void pickled_checkpoint(struct twin *tw)
{
	if (tw->steps_made % 4 == 3)
		twin_copy(tw, 1, COPY_D2H, 1 << 23, 400, true, COPY);
	twin_launch(tw, 1, 20, "layer", 1);
	twin_host(tw, 200);
	twin_launch(tw, 1, 20, "layer", 1);
	if (tw->steps_made++ % 4 == 2)
		twin_host(tw, 500);
}

/* One line computes in every step, and fetches in each fourth. */
void checkpoint_of_a_line(struct twin *tw)
{
	twin_host(tw, 200);
	twin_launch(tw, 1, 20, "layer", 1);
	twin_launch(tw, 1, 5, "sum", COPY);
	if (tw->steps_made++ % 4 == 3)
		twin_copy(tw, 1, COPY_D2H, 1 << 23, 400, !tw->is_fixed, COPY);
}

/* Small kernels of one line; each fourth step has more of another's. */
void launching_now_and_then(struct twin *tw)
{
	for (int i = 0; i < LAYERS * 4; i++)
		twin_launch(tw, 1, 1, "tiny", FORWARD);
	if (tw->steps_made++ % 4 == 3)
		for (int i = 0; i < LAYERS * 10; i++)
			twin_launch(tw, 1, 1, "tiny", OTHER_FORWARD);
}

/* One line waits for a large copy, and again, behind more work, for its stream. */
void two_kinds(struct twin *tw)
{
	twin_launch(tw, 1, 100, "layer", 1);
	twin_copy(tw, 1, COPY_D2H, 1 << 23, 50, !tw->is_fixed, WAIT);
	twin_host(tw, 100);
	twin_launch(tw, 1, 300, "layer", 1);
	twin_host(tw, 50);
	if (!tw->is_fixed)
		twin_wait_stream(tw, 1, WAIT);
	twin_host(tw, 10);
}

/*
 * One line copies a batch in, and copies out the step before's result, and a value. What goes in
 * takes longest.
 */
void in_and_out(struct twin *tw)
{
	twin_host(tw, 40);
	twin_copy(tw, 1, COPY_H2D, 1 << 20, 35, !tw->is_fixed, COPY);
	twin_copy(tw, 1, COPY_D2H, 1 << 16, 8, !tw->is_fixed, COPY);
	twin_copy(tw, 1, COPY_D2H, 8, 1, !tw->is_fixed, COPY);
	for (int i = 0; i < LAYERS; i++) {
		twin_host(tw, 12);
		twin_launch(tw, 1, 30, "layer", 1 + (uint32_t)i);
	}
}

/* Each third step reads what was computed. */
void logging(struct twin *tw)
{
	twin_host(tw, 200);
	twin_launch(tw, 1, 95, "layer", 1);
	if (tw->steps_made++ % 3 == 2) {
		twin_host(tw, 5);
		twin_copy(tw, 1, COPY_D2H, 1 << 23, 200, !tw->is_fixed, COPY);
	}
}

/* ---- Graphs ---- */

/* A server's step: sampling on the CPU, one graph, and a wait for the result. */
static void graph_step(struct twin *tw, const struct twin_node *nodes, size_t n)
{
	twin_host(tw, 30);
	twin_graph(tw, 1, nodes, n, REPLAY);
	twin_wait_stream(tw, 1, WAIT);
}

/* Of six nodes one is slow. Fixed, the graph is captured without it. */
void slow_node(struct twin *tw)
{
	static const struct twin_node nodes[] = {
		{ CAT_LAUNCH, 20, NODE },	{ CAT_LAUNCH, 20, NODE }, { CAT_LAUNCH, 20, NODE },
		{ CAT_LAUNCH, 300, SLOW_NODE }, { CAT_LAUNCH, 20, NODE }, { CAT_LAUNCH, 20, NODE },
	};
	static const struct twin_node fixed[] = {
		{ CAT_LAUNCH, 20, NODE }, { CAT_LAUNCH, 20, NODE }, { CAT_LAUNCH, 20, NODE },
		{ CAT_LAUNCH, 20, NODE }, { CAT_LAUNCH, 20, NODE },
	};
	graph_step(tw, tw->is_fixed ? fixed : nodes, tw->is_fixed ? 5 : 6);
}

void slow_first_node(struct twin *tw)
{
	static const struct twin_node nodes[] = {
		{ CAT_LAUNCH, 300, SLOW_NODE },
		{ CAT_LAUNCH, 50, NODE },
		{ CAT_LAUNCH, 50, NODE },
	};
	graph_step(tw, nodes + tw->is_fixed, 3 - tw->is_fixed);
}

/* All kernels of the graph take half as long. */
void faster_nodes(struct twin *tw)
{
	double us = tw->is_fixed ? 40 : 80;
	const struct twin_node nodes[] = {
		{ CAT_LAUNCH, us, NODE },
		{ CAT_LAUNCH, us, NODE },
		{ CAT_LAUNCH, us, NODE },
	};
	graph_step(tw, nodes, 3);
}

/* The device waits for a host function, which is no work of the device. */
void host_node(struct twin *tw)
{
	static const struct twin_node nodes[] = {
		{ CAT_LAUNCH, 50, NODE },
		{ CAT_HOSTFUNC, 200, HOST_NODE },
		{ CAT_LAUNCH, 50, NODE },
	};
	static const struct twin_node fixed[] = {
		{ CAT_LAUNCH, 50, NODE },
		{ CAT_LAUNCH, 50, NODE },
	};
	graph_step(tw, tw->is_fixed ? fixed : nodes, tw->is_fixed ? 2 : 3);
}

/* A copy inside the graph takes most of the time. */
void copy_node(struct twin *tw)
{
	static const struct twin_node nodes[] = {
		{ CAT_LAUNCH, 50, NODE },
		{ CAT_MEMCPY, 200, COPY_NODE },
		{ CAT_LAUNCH, 50, NODE },
	};
	graph_step(tw, nodes, 3);
}

/* A pinned copy inside the graph. Fixed, it is captured on a second stream. */
void pinned_out_node(struct twin *tw)
{
	unsigned branch = tw->is_fixed ? TWIN_BRANCH : 0;
	const struct twin_node nodes[] = {
		{ CAT_LAUNCH, 50, NODE },
		{ CAT_MEMCPY | TWIN_PINNED_OUT | branch, 200, COPY_NODE },
		{ CAT_LAUNCH, 150, NODE },
	};
	graph_step(tw, nodes, 3);
}

/* A graph begins with a pinned copy of the input. Fixed, the copy runs during the step before. */
void pinned_in_node(struct twin *tw)
{
	static const struct twin_node nodes[] = {
		{ CAT_MEMCPY | TWIN_PINNED_IN, 200, COPY_NODE },
		{ CAT_LAUNCH, 150, NODE },
		{ CAT_LAUNCH, 150, NODE },
	};
	if (tw->is_fixed)
		twin_copy(tw, 2, COPY_H2D, 1 << 20, 200, false, COPY_NODE);
	graph_step(tw, nodes + tw->is_fixed, 3 - tw->is_fixed);
}

/* The CPU launches small graphs more slowly than the device runs them. */
void many_graphs(struct twin *tw)
{
	static const struct twin_node nodes[] = { { CAT_LAUNCH, 0.1, NODE } };
	for (int i = 0; i < 60; i++) {
		twin_host(tw, 10);
		twin_graph(tw, 1, nodes, 1, REPLAY);
	}
}
