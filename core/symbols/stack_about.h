/* Finds out from the names in a stack why a call was made. The table is in stack_about.c. */
#ifndef CORE_STACK_ABOUT_H
#define CORE_STACK_ABOUT_H

#include "core/symbols/frames.h"

enum stack_about {
	ABOUT_INPUT = 1 << 0,	    /* gets the next batch: data loader code, file reading */
	ABOUT_COLLECTIVE = 1 << 1,  /* communicates with other ranks */
	ABOUT_LIBRARY = 1 << 2,	    /* a CUDA library made the call for itself */
	ABOUT_ALLOCATOR = 1 << 3,   /* a framework's allocator frees or requests memory */
	ABOUT_READ = 1 << 4,	    /* an operator whose result the CPU reads: .item(), nonzero() */
	ABOUT_WAIT = 1 << 5,	    /* an explicit wait: torch.cuda.synchronize() */
	ABOUT_MAKING_ROOM = 1 << 6, /* the allocator frees memory because an allocation failed */
	ABOUT_EMPTY_CACHE = 1 << 7, /* the allocator frees memory: the user called empty_cache() */
	/* within backward(): the calls of autograd's threads until the next one belong to it */
	ABOUT_BACKWARD = 1 << 8,
	/* a thread of the autograd engine, without a frame of the user's line */
	ABOUT_WORKER = 1 << 9,
	ABOUT_OPTIMIZER = 1 << 10, /* an optimizer's step and related work, by frames */
	/* within a pass or an optimizer's step: a host-to-device copy there is not a batch */
	ABOUT_PASS = 1 << 11,
	ABOUT_NUMBERS = 1 << 12, /* creates a tensor from Python numbers: torch.tensor([...]) */
};

/* stack_about_whole.c */
uint16_t stack_about(struct frames *f, uint32_t stack);

/* Fills the bits of a frame for each range of distances from the innermost frame: few, some, or any
 * number of frames. Scans the table, so it is called once per frame, see frame_about(). */
enum { ABOUT_DEPTHS = 3 };
void stack_about_match(const struct frame *frame, uint16_t about[ABOUT_DEPTHS]);

/* Returns the index in `about` for a frame's position from the innermost frame. */
unsigned stack_about_depth(size_t number);

#endif
