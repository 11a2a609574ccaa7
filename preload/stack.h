/*
 * The stack of a call: native and Python frames, merged, known by a small number. A stack that was seen before costs the two
 * walks and one look into the thread's cache; a new one is written to the dictionary once.
 */
#ifndef PRELOAD_STACK_H
#define PRELOAD_STACK_H

#include "core/runtime/config.h"
#include "preload/unwind.h"

#include <stdint.h>

/* The wrapper's caller. The frame address gives the wrapper a frame pointer, which costs a disarmed call one push. */
#define CALLER_REGS                                                                          \
	&(struct unwind_regs)                                                                \
	{                                                                                    \
		.ip = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                      \
		.bp = *(const uint64_t *)__builtin_frame_address(0)                          \
	}

struct stack_thread;

/* The number of the caller's stack, 0: none could be taken. Inside a hooked call only (hook_thread.depth). */
uint32_t stack_take(const struct unwind_regs *regs);

/* Bits of the categories whose calls take a stack, in recorded steps and outside them. */
struct stack_masks {
	uint32_t recorded, always;
};

/* Reads the settings; nothing is loaded before the first stack. */
void stack_configure(const struct config *config);
struct stack_masks stack_masks(void);

/* At a thread's end. */
void stack_thread_free(struct stack_thread *t);

/* Objects were unmapped. Any thread. */
void stack_objects_gone(void);

/* What was lost, into the journal, at the process's end. */
void stack_finish(void);

/* In a forked child: the journal is a new one. */
void stack_forget(void);

#endif
