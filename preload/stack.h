/*
 * The stack of a call: native and Python frames, merged, and identified by a small number. A known
 * stack costs the two walks and a look-up in the thread's cache. A new stack is written to the
 * dictionary once.
 */
#ifndef PRELOAD_STACK_H
#define PRELOAD_STACK_H

#include "core/runtime/config.h"
#include "preload/unwind.h"

#include <stdbool.h>
#include <stdint.h>

/* The registers of the wrapper's caller. __builtin_frame_address makes the compiler set up a frame
 * pointer in the wrapper, which costs one push even when nothing is recorded. */
#define CALLER_REGS                                                                          \
	&(struct unwind_regs)                                                                \
	{                                                                                    \
		.ip = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                      \
		.bp = *(const uint64_t *)__builtin_frame_address(0)                          \
	}

struct stack_thread;

/* Returns the number of the caller's stack, 0 if the stack could not be taken. Must be called
 * inside a hooked call (hook_thread.depth above 0). */
uint32_t stack_take(const struct unwind_regs *regs);

/*
 * Samples: stacks of other threads. For the sampling thread (host.h), and no other.
 */
struct python_frame;
struct stack_window;

/* Walks the native stack of another thread (unwind_other()) and keeps its frames for the next
 * stack_of_sample(). Returns the number of frames; 0 also while a library is being unloaded. */
unsigned stack_walk_sample(const struct unwind_regs *regs, const struct stack_window *window);

/* Returns whether profrun's code is on the stack that stack_walk_sample() walked: the thread is in
 * a CUDA call. */
bool stack_sample_is_own(void);

/* What the sampling thread knows of a thread's Python frames. */
struct stack_python {
	const struct python_frame *frames; /* innermost first */
	uint32_t n;
	/* an address within the C frame of the innermost evaluator; 0: unknown */
	uint64_t evaluator;
	bool is_by_name; /* the reader finds the evaluator (STACK_BY_NAME) */
};

/*
 * Returns the number of a stack of Python frames and, if `with_native` is set, of the frames of the
 * last stack_walk_sample(). With Python frames, only native frames that Python called are used.
 * Returns 0 if there are no frames, or if the stack could not be stored.
 */
uint32_t stack_of_sample(const struct stack_python *python, bool with_native);

/* Called before objects may be unmapped; stack_objects_gone() must follow. Waits until the sampling
 * thread reads no code, but not long. */
void stack_objects_go(void);

/* Bits (1u << CAT_*) of the categories whose calls take a stack: in recorded steps, and in all
 * steps. */
struct stack_masks {
	uint32_t recorded, always;
};

/* Reads the settings. Loads no library; the first stack does that. */
void stack_configure(const struct config *config);
struct stack_masks stack_masks(void);

/* Frees a thread's state. Called when the thread ends; NULL is ignored. */
void stack_thread_free(struct stack_thread *t);

/* Called when objects were unmapped: forgets what was learned about their code. Any thread. */
void stack_objects_gone(void);

/* Writes the number of lost stacks to the journal, if any were lost. Called at exit. */
void stack_finish(void);

/* In a forked child: forgets all numbers, because the child's journal is new. */
void stack_forget(void);

#endif
