/*
 * Whole walks that a thread remembers: where they began, every word that they read, and their hash. If all the words are as
 * they were, the walk would go the same way again.
 */
#ifndef PRELOAD_UNWIND_MEMO_H
#define PRELOAD_UNWIND_MEMO_H

#include "preload/unwind_walk.h"

#include <stdint.h>

enum {
	MEMO_SETS = 256,
	MEMO_WAYS = 4,
	MEMO_UNIT = 16, /* entries lie at multiples */
	MEMO_SEEN = 1024,
	MEMO_RING_BYTES = 256 * 1024, /* some 340 stacks of 50 frames: the oldest makes room */
};

struct memo_place {
	uint32_t unit; /* counted since the first entry, modulo 2^32 */
	uint32_t tag;
};

struct memo {
	struct memo_place (*sets)[MEMO_WAYS];
	uint16_t *seen; /* parts of the hashes of late walks, by another part */
	char *ring;
	uint32_t head, floor; /* next entry's unit; entries before `floor` are stale */
	uint32_t found;	      /* the entry found last */
	uint32_t expected;    /* the one that came after it the last time */
};

/* The hash of the walk from `regs`, and what is kept with it (unwind.h); 0: not remembered, or something has changed. */
uint64_t memo_find(struct memo *m, const struct unwind_regs *regs, uint64_t with, uint32_t *kept);

/* With the walk found last, if that has this hash. */
void memo_keep(struct memo *m, uint64_t hash, uint64_t with, uint32_t value);

/* Remembers a walk that has been seen before: of those that come once, writing them down would cost more than the walk. */
void memo_add(struct memo *m, const struct unwind_regs *regs, const struct walk_trail *trail,
	      uint64_t hash);

static inline void memo_clear(struct memo *m)
{
	m->floor = m->head;
}

#endif
