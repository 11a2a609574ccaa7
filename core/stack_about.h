/* What a stack says about why a call was made, from the names in it. One table, in stack_about.c. */
#ifndef CORE_STACK_ABOUT_H
#define CORE_STACK_ABOUT_H

#include "core/frames.h"

enum stack_about {
	ABOUT_INPUT = 1,	/* getting the next batch: a loader's code, file reading */
	ABOUT_COLLECTIVE = 2,	/* talking to other ranks */
	ABOUT_LIBRARY = 4,	/* a CUDA library made the call for its own sake */
	ABOUT_ALLOCATOR = 8,	/* a framework's allocator gives memory back or gets more */
	ABOUT_MAKING_ROOM = 64, /* it does so because an allocation found none */
	ABOUT_READ = 16,	/* an operator whose result the host reads: .item(), nonzero() */
	ABOUT_ASKED_FOR = 128,	/* the user asked for that by name: empty_cache() */
	ABOUT_WAIT = 32,	/* the user asked for the wait by name: torch.cuda.synchronize() */
	ABOUT_BACKWARD =
		64, /* within a call of backward(): a worker's calls until the next are its */
	ABOUT_WORKER =
		128, /* a thread of the autograd engine: no frame says which line it works for */
};

uint8_t stack_about(struct frames *f, uint32_t stack);

#endif
