/*
 * Finds the end of a frame that is given by bp if bp is unknown. The kernel says the stack pointer
 * of a blocked thread, but not its bp. Code that was compiled without optimization, or with frame
 * pointers, needs bp. x86-64 only: on AArch64, compilers compute the ends of frames from sp.
 */
#ifndef PRELOAD_UNWIND_BP_H
#define PRELOAD_UNWIND_BP_H

#include "preload/unwind_objects.h"

#include <stdbool.h>
#include <stdint.h>

enum { BP_KNOWN = 256 };

/* Frames that were found. All zeros: none. */
struct bp_known {
	uint32_t generation;
	struct {
		uint64_t key, return_word, depth; /* `depth`: from sp to the record */
	} at[BP_KNOWN];
};

/*
 * Finds the frame record of the function that executes the code at `key`: two words with the
 * caller's bp and the return address. `sp`: the function's stack pointer, while it calls another
 * function. Returns the address after the record, which is the frame's end; 0: it is unknown. The
 * first time, this takes some ten microseconds, because code is read by system calls. Frames found
 * before `generation` are stale.
 */
uint64_t bp_find_end(struct bp_known *known, uint32_t generation, uint64_t key, uint64_t sp,
		     const struct stack_window *window);

#endif
