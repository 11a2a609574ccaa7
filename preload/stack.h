/*
 * The stack of a call: native and Python frames, merged, identified by a small number. A known
 * stack costs the two walks and a look-up in the thread's cache; a new one is written to the
 * dictionary once.
 */
#ifndef PRELOAD_STACK_H
#define PRELOAD_STACK_H

#include "core/runtime/config.h"
#include "preload/unwind.h"

#include <stdint.h>

/* The wrapper's caller. The frame address gives the wrapper a frame pointer, which costs one push
 * even when nothing is recorded. */
#define CALLER_REGS                                                                          \
	&(struct unwind_regs)                                                                \
	{                                                                                    \
		.ip = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                      \
		.bp = *(const uint64_t *)__builtin_frame_address(0)                          \
	}

struct stack_thread;

/* Returns the number of the caller's stack, 0: it could not be taken. Only inside a hooked call
 * (hook_thread.depth). */
uint32_t stack_take(const struct unwind_regs *regs);

/* Bits of the categories whose calls take a stack, in recorded steps and always. */
struct stack_masks {
	uint32_t recorded, always;
};

/* Reads the settings. Nothing is loaded before the first stack. */
void stack_configure(const struct config *config);
struct stack_masks stack_masks(void);

/* Called when a thread ends. */
void stack_thread_free(struct stack_thread *t);

/* Called when objects were unmapped. Any thread. */
void stack_objects_gone(void);

/* Writes to the journal how many stacks were lost. Called at exit. */
void stack_finish(void);

/* In a forked child: its journal is new. */
void stack_forget(void);

#endif
