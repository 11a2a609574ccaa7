/* What a stack says about why a call was made, from the names in it. One table, in stack_about.c. */
#ifndef CORE_STACK_ABOUT_H
#define CORE_STACK_ABOUT_H

#include "core/symbols/frames.h"

enum stack_about {
	ABOUT_INPUT = 1 << 0,	   /* getting the next batch: a loader's code, file reading */
	ABOUT_COLLECTIVE = 1 << 1, /* talking to other ranks */
	ABOUT_LIBRARY = 1 << 2,	   /* a CUDA library made the call for its own sake */
	ABOUT_ALLOCATOR = 1 << 3,  /* a framework's allocator gives memory back or gets more */
	ABOUT_READ = 1 << 4,	   /* an operator whose result the host reads: .item(), nonzero() */
	ABOUT_WAIT = 1 << 5, /* the user asked for the wait by name: torch.cuda.synchronize() */
	ABOUT_MAKING_ROOM = 1 << 6, /* the allocator does so because an allocation found none */
	ABOUT_ASKED_FOR = 1 << 7,   /* the user asked for that by name: empty_cache() */
	ABOUT_BACKWARD =
		1 << 8, /* within a call of backward(): a worker's calls until the next are its */
	ABOUT_WORKER =
		1 << 9, /* a thread of the autograd engine: no frame says which line it works for */
	ABOUT_OPTIMIZER = 1 << 10, /* an optimizer's step and what belongs to it, by their frames */
	ABOUT_PASS =
		1
		<< 11, /* within a pass or an optimizer's step: what is copied to the device there is no batch */
	ABOUT_NUMBERS = 1 << 12, /* a tensor is made of Python's numbers: torch.tensor([...]) */
};

/* stack_about_whole.c */
uint16_t stack_about(struct frames *f, uint32_t stack);

/* Fills by how far out the frame stands (few, some, any number of frames from the innermost) what it says of its stack. A scan of the table:
 * asked once per frame, see frame_about(). */
enum { ABOUT_DEPTHS = 3 };
void stack_about_match(const struct frame *frame, uint16_t about[ABOUT_DEPTHS]);

/* Which of these a frame's number in its stack is. */
unsigned stack_about_depth(size_t number);

#endif
