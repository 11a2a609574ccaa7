/*
 * libunwind, asked what a frame looks like. It is opened with dlopen, never linked: a linked one would take over the
 * application's C++ exceptions (throw and catch through 21 frames 250 us instead of 7). It is used as for another process (an
 * address space of our own), so every byte that it reads passes our hands: no loader lock, no system call, no fault.
 */
#ifndef PRELOAD_UNWIND_LEARN_H
#define PRELOAD_UNWIND_LEARN_H

#include "preload/unwind_objects.h"

#include <stdbool.h>
#include <stdint.h>

/* False: it is not there (said once). */
bool learn_start(void);

/* The rule (unwind_rules.h) for code at `key`. One caller at a time. */
uint64_t learn_rule(uint64_t key);

struct unwind_position {
	uint64_t key, sp, bp;
};

/* One step that no rule can tell, from real memory. False: nor can libunwind, from these registers. Any number of callers. */
bool learn_step(struct unwind_position *position, const struct stack_window *window,
		uint64_t *return_word);

#endif
