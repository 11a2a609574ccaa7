/*
 * Asks libunwind about a frame. libunwind is opened with dlopen, not linked: a linked libunwind
 * would handle the application's C++ exceptions (throw and catch through 21 frames would take 250
 * us instead of 7). profrun uses it as if for another process, with its own address space. Every
 * byte that libunwind reads therefore goes through profrun's callbacks, which take no loader lock,
 * make no system call and cannot fault.
 */
#ifndef PRELOAD_UNWIND_LEARN_H
#define PRELOAD_UNWIND_LEARN_H

#include "preload/unwind_objects.h"

#include <stdbool.h>
#include <stdint.h>

/* Loads libunwind. Returns false, with one warning, if libunwind is not available. */
bool learn_start(void);

/*
 * Any number of threads may be in the two functions below. Each returns false if libunwind must not
 * be called: this is a signal handler that interrupted one of them, or learn_forget() was called
 * when another thread was in them.
 */

/* Sets `rule` to the rule (unwind_rules.h) for the code at `key`. */
bool learn_rule(uint64_t key, uint64_t *rule);

struct unwind_position {
	uint64_t key, sp, bp;
};

/* Makes a step that no rule can express: lets libunwind read the real stack in `window`. Updates
 * `position` and sets `return_word`. Also returns false if libunwind cannot step from there
 * either. */
bool learn_step(struct unwind_position *position, const struct stack_window *window,
		uint64_t *return_word);

/* In a forked child, where the other threads do not exist: one that was in libunwind may have left
 * a lock there. */
void learn_forget(void);

#endif
