/* Programs with a fault each, for a struct twin: `is_fixed` leaves it out. */
#ifndef TEST_UNIT_TWIN_PROGRAMS_H
#define TEST_UNIT_TWIN_PROGRAMS_H

#include "test/unit/twin.h"

/* Stacks, and so lines. */
enum {
	LAYERS = 6,
	WAIT = 40,
	OTHER_WAIT = 41,
	COPY = 42,
	MALLOC = 43,
	FREE = 44,
	REPLAY = 45, /* launches a graph */
	NODE = 46,
	SLOW_NODE = 47,
	HOST_NODE = 48,
	COPY_NODE = 49,
	NEXT = 50,
	LOADER = 60,
	LOADERS_THREAD = 61,
	BATCH = 62 /* copies a batch within a dataset's code */
};
enum { FORWARD = 1, OTHER_FORWARD, BACKWARD, FORWARD_LAUNCHES = 20, BOTH_PASSES = 52 };

void device_bound(struct twin *tw);
void host_bound(struct twin *tw);
void disturbed(struct twin *tw);
void polling(struct twin *tw);
void hidden(struct twin *tw);
void hidden_both(struct twin *tw);
void read_on_two_lines(struct twin *tw);
void read_on_two_lines_pageable(struct twin *tw);
void blocking_copy(struct twin *tw);
void constants(struct twin *tw);
void pageable_batch(struct twin *tw);
void fetching(struct twin *tw);
void allocating(struct twin *tw);
void giving_back(struct twin *tw);
void two_streams(struct twin *tw);
void taking_turns(struct twin *tw);
void legacy_between(struct twin *tw);
void legacy_kernels(struct twin *tw);
void legacy_moved(struct twin *tw);
void free_running(struct twin *tw);
void queue_full(struct twin *tw);
void launch_bound(struct twin *tw);
void launching_both_passes(struct twin *tw);
void one_launch(struct twin *tw);
void chatty_line(struct twin *tw);
void slow_input(struct twin *tw);
void slow_input_behind(struct twin *tw);
void slow_input_asked(struct twin *tw);
void slow_loader(struct twin *tw);
void pinning_thread(struct twin *tw);
void lineless_loader(struct twin *tw);
void uneven_input(struct twin *tw);
void busy_before(struct twin *tw);
void short_wait(struct twin *tw);
void some_input(struct twin *tw);
void a_little_input(struct twin *tw);
void two_threads(struct twin *tw);
void two_causes(struct twin *tw);
void prefetching(struct twin *tw);
void slow_node(struct twin *tw);
void slow_first_node(struct twin *tw);
void faster_nodes(struct twin *tw);
void host_node(struct twin *tw);
void copy_node(struct twin *tw);
void pinned_out_node(struct twin *tw);
void pinned_in_node(struct twin *tw);
void many_graphs(struct twin *tw);
void held_up(struct twin *tw);
void checkpoint(struct twin *tw);
void pickled_checkpoint(struct twin *tw);
void checkpoint_of_a_line(struct twin *tw);
void launching_now_and_then(struct twin *tw);
void two_kinds(struct twin *tw);
void in_and_out(struct twin *tw);
void logging(struct twin *tw);

#endif
