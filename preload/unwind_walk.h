/*
 * The walk from a frame outwards by rules, and the trail that it leaves: the thread's last walk.
 * The next walk reuses the outer part in which nothing has changed.
 */
#ifndef PRELOAD_UNWIND_WALK_H
#define PRELOAD_UNWIND_WALK_H

#include "preload/unwind.h"
#include "preload/unwind_objects.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum walk_step_flag {
	STEP_USES_BP = 1,      /* this frame's end depends on bp */
	STEP_SAVES_BP = 2,     /* the frame saved the caller's bp */
	STEP_HAS_BP_WORD = 4,  /* ... and that is the last of the step's words */
	STEP_NEEDS_BP = 8,     /* this frame or one further out depends on this frame's bp */
	STEP_INTERRUPTED = 16, /* `key` is the interrupted instruction, not in a call */
};

/* A frame, and how the step to its caller went. */
struct walk_step {
	/* the address that the rule is for: return address - 1, or the interrupted instruction */
	uint64_t key;
	uint64_t sp, bp;
	uint64_t sum;	    /* sum of the hashes of this frame and all outer ones */
	uint32_t words_end; /* end of its words, which follow those of the next outer step */
	uint32_t flags;
};

struct walk_word {
	uint64_t at, value;
};

/* Frames, and the words on which the steps between them depend, from the outermost (0) to the
 * innermost. A saved bp that is not needed is not among the words. */
struct walk_trail {
	struct walk_step *steps;
	struct walk_word *words;
	uint32_t n;
	uint32_t flags;	 /* enum stack_flag */
	bool is_lasting; /* the words that were read determine it, so it may be remembered */
	bool is_kept;	 /* the next walk may also join it at any step */
};

struct walker {
	struct walk_trail trail;
	struct walk_step *steps; /* new steps of the current walk, innermost first */
	struct walk_word *words;
	uint64_t *copy; /* STACK_COPY_BYTES, for stacks that are not the thread's own */
	struct stack_bounds own;
	uint32_t depth, words_most;
	_Atomic uint64_t slow; /* walks that needed a copied stack or libunwind's own step */
};

/* Returns how many words a walk of `depth` frames may read. */
static inline uint32_t walk_words_most(uint32_t depth)
{
	return depth * 3 + 64; /* two per frame, and more for a few */
}

/* Walks the stack from `regs` outwards, leaves its trail and returns its hash. `generation`: rules
 * older than that are stale. */
uint64_t walk(struct walker *w, const struct unwind_regs *regs, uint32_t generation);

#endif
