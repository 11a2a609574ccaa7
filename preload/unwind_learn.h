/*
 * Asks libunwind about a frame. It is opened with dlopen, never linked: a linked one would take
 * over the application's C++ exceptions (throw and catch through 21 frames take 250 us instead of
 * 7). It is used as if for another process (an address space of our own), so every byte that it
 * reads goes through our callbacks: no loader lock, no system call, no fault.
 */
#ifndef PRELOAD_UNWIND_LEARN_H
#define PRELOAD_UNWIND_LEARN_H

#include "preload/unwind_objects.h"

#include <stdbool.h>
#include <stdint.h>

/* Loads libunwind. Returns false, with one warning, if it is not available. */
bool learn_start(void);

/* Returns the rule (unwind_rules.h) for code at `key`. One caller at a time. */
uint64_t learn_rule(uint64_t key);

struct unwind_position {
	uint64_t key, sp, bp;
};

/* Makes a step that no rule can express, from real memory. Returns false if libunwind cannot
 * either, from these registers. Any number of concurrent callers. */
bool learn_step(struct unwind_position *position, const struct stack_window *window,
		uint64_t *return_word);

#endif
