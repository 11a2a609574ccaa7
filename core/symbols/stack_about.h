/* Determines from the names in a stack why a call was made. The table is in stack_about.c. */
#ifndef CORE_STACK_ABOUT_H
#define CORE_STACK_ABOUT_H

#include "core/symbols/frames.h"

/* Bits that say why a call was made. */
enum stack_about {
	ABOUT_INPUT = 1 << 0,	   /* to get the next batch: a data loader, reading of files */
	ABOUT_COLLECTIVE = 1 << 1, /* to communicate with other ranks */
	ABOUT_LIBRARY = 1 << 2,	   /* a CUDA library made the call for its own purposes */
	ABOUT_ALLOCATOR = 1 << 3,  /* a framework's allocator frees or requests memory */
	/* in an operator whose result the CPU reads, such as .item() or nonzero() */
	ABOUT_READ = 1 << 4,
	ABOUT_WAIT = 1 << 5,	    /* an explicit wait, such as torch.cuda.synchronize() */
	ABOUT_MAKING_ROOM = 1 << 6, /* the allocator frees memory because an allocation failed */
	/* the allocator frees memory because the user called empty_cache() */
	ABOUT_EMPTY_CACHE = 1 << 7,
	/* Within backward(), on the thread that called it. Calls of the autograd engine's threads
	 * belong to this backward() until the next backward() is called. */
	ABOUT_BACKWARD = 1 << 8,
	/* on a thread of the autograd engine, whose stacks contain no line of the user */
	ABOUT_WORKER = 1 << 9,
	/* in an optimizer's step() or related work; only set if frames show it */
	ABOUT_OPTIMIZER = 1 << 10,
	/* within a forward or backward pass or an optimizer's step(), or while a model moves to a
	 * device: a copy to the device there does not transfer a batch */
	ABOUT_PASS = 1 << 11,
	ABOUT_NUMBERS = 1 << 12, /* to create a tensor from Python numbers: torch.tensor([...]) */
	/* autograd's anomaly detection looks for NaN in a gradient (set_detect_anomaly) */
	ABOUT_ANOMALY = 1 << 13,
	/* Something is fetched that may be the next batch: the next item of a loop, an item of a
	 * queue, the content of a file. It is input only if a batch is copied to the device soon
	 * after. */
	ABOUT_FETCH = 1 << 14,
	/* The innermost Python code is a framework's, within a forward or backward pass or an
	 * optimizer's step(): between calls, the framework is on its way to the next launch. */
	ABOUT_LAUNCHING = 1 << 15,
	/* Python's subprocess module starts a child process, or waits for its end or its output. */
	ABOUT_CHILD = 1 << 16,
	/* An event loop waits, because none of its coroutines is ready. */
	ABOUT_IDLE_LOOP = 1 << 18,
	/* The process exits: Python shuts down, or exit handlers and destructors run. */
	ABOUT_EXIT = 1 << 17,
};

/* Returns the bits of a whole stack; 0 for stack 0. In stack_about_whole.c. */
uint32_t stack_about(struct frames *f, uint32_t stack);

/* Returns whether stack_about() has ABOUT_READ. In stack_reads.c. */
bool stack_about_is_read(struct frames *f, uint32_t stack);

/*
 * Writes the bits that a frame adds to its stack. They depend on the frame's distance from the
 * innermost frame, so `about` has one element for each of three ranges of distances. Searches a
 * table, so it is called only once per frame; use frame_about() instead.
 */
enum { ABOUT_DEPTHS = 3 };
void stack_about_match(const struct frame *frame, uint32_t about[ABOUT_DEPTHS]);

/* Returns the index in `about` for the frame at position `number` of a stack; the innermost frame
 * has position 0. */
unsigned stack_about_depth(size_t number);

#endif
