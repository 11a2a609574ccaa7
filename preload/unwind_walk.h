/* The walk from a frame outwards by rules, and the trail that it leaves: the thread's last walk, of which the next one keeps
 * the outer part for which nothing has changed. */
#ifndef PRELOAD_UNWIND_WALK_H
#define PRELOAD_UNWIND_WALK_H

#include "preload/unwind.h"
#include "preload/unwind_objects.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum walk_step_flag {
	STEP_USES_BP = 1,      /* where this frame ends depends on bp */
	STEP_SAVES_BP = 2,     /* the frame had saved the caller's bp */
	STEP_HAS_BP_WORD = 4,  /* and that is the last of the step's words */
	STEP_NEEDS_BP = 8,     /* this frame or one further out depends on this frame's bp */
	STEP_INTERRUPTED = 16, /* `key` is the instruction itself, not the call before it */
};

/* A frame, and how its walk to the caller went. */
struct walk_step {
	uint64_t
		key; /* the address that the rule is for: return address - 1, or the interrupted instruction */
	uint64_t sp, bp;
	uint64_t sum;	    /* of the hashes of this frame and all further out */
	uint32_t words_end; /* where its words end, which follow those of the step further out */
	uint32_t flags;
};

struct walk_word {
	uint64_t at, value;
};

/* Frames, and the words on which the way between them depends, from the outermost (0) to the innermost. A saved bp of which nobody
 * makes use is not among the words. */
struct walk_trail {
	struct walk_step *steps;
	struct walk_word *words;
	uint32_t n;
	uint32_t flags;	 /* enum stack_flag */
	bool is_lasting; /* the words that were read determine it: it may be remembered */
	bool is_kept;	 /* and the next walk may join it anywhere */
};

struct walker {
	struct walk_trail trail;
	struct walk_step *steps; /* new ones of the walk under way, innermost first */
	struct walk_word *words;
	uint64_t *copy; /* STACK_COPY_BYTES, for stacks that are not the thread's own */
	struct stack_bounds own;
	uint32_t depth, words_most;
	_Atomic uint64_t slow; /* how many walks needed a copied stack or libunwind's own step */
};

/* Words that a walk of `depth` frames may read. */
static inline uint32_t walk_words_most(uint32_t depth)
{
	return depth * 3 + 64; /* two a frame, and more for few */
}

/* Leaves the trail of the stack from `regs` outwards and returns its hash. `generation`: rules older than that are stale. */
uint64_t walk(struct walker *w, const struct unwind_regs *regs, uint32_t generation);

#endif
