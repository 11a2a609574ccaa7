/*
 * Walks from a frame outwards by rules. Each walk leaves a trail, which describes the thread's last
 * walk. The next walk reuses the outer part of the trail in which nothing has changed.
 */
#ifndef PRELOAD_UNWIND_WALK_H
#define PRELOAD_UNWIND_WALK_H

#include "preload/unwind.h"
#include "preload/unwind_bp.h"
#include "preload/unwind_objects.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum walk_step_flag {
	STEP_USES_BP = 1,     /* this frame's end depends on bp */
	STEP_SAVES_BP = 2,    /* the frame saved the caller's bp */
	STEP_HAS_BP_WORD = 4, /* the frame's last word is that saved bp */
	/* the end of this frame or of an outer one depends on this frame's bp */
	STEP_NEEDS_BP = 8,
	STEP_INTERRUPTED = 16, /* `key` is an interrupted instruction, not part of a call */
};

/* A frame, and the step to its caller. */
struct walk_step {
	/* the address for which a rule is needed: the return address - 1, or the interrupted
	 * instruction */
	uint64_t key;
	uint64_t sp, bp;
	uint64_t sum; /* sum of the hashes of this frame and all outer frames */
	/* index after the step's last word; the words of the next outer step come before its own */
	uint32_t words_end;
	uint32_t flags;
};

struct walk_word {
	uint64_t at, value;
};

/* The frames of a walk, and the words on which the steps between them depend, both from the
 * outermost (index 0) to the innermost. A saved bp that is not needed is not among the words. */
struct walk_trail {
	struct walk_step *steps;
	struct walk_word *words;
	uint32_t n;
	uint32_t flags;	 /* enum stack_flag */
	bool is_lasting; /* the words alone determine the walk, so the walk may be remembered */
	bool is_kept;	 /* the next walk may also join this trail at any step */
};

struct walker {
	struct walk_trail trail;
	struct walk_step *steps; /* new steps of the current walk, innermost first */
	struct walk_word *words;
	uint64_t *copy;		/* STACK_COPY_BYTES, for stacks other than the thread's own */
	struct bp_known *known; /* for walk_other() */
	struct stack_bounds own;
	uint32_t depth, words_most;
	_Atomic uint64_t slow; /* walks that needed a copied stack or libunwind's own step */
};

/* Returns how many words a walk of `depth` frames may read. */
static inline uint32_t walk_words_most(uint32_t depth)
{
	return depth * 3 + 64; /* two words per frame, and more for a few frames */
}

/* Walks the stack from `regs` outwards, replaces the trail and returns the walk's hash. Rules older
 * than `generation` are stale. */
uint64_t walk(struct walker *w, const struct unwind_regs *regs, uint32_t generation);

/* Walks a copy of another thread's stack and replaces the trail. `window`: the copy; NULL: it is
 * made now. */
void walk_other(struct walker *w, const struct unwind_regs *regs, const struct stack_window *window,
		uint32_t generation);

#endif
