/*
 * The walks that a thread remembers: where each began, every word that it read, and its hash. If
 * all these words are unchanged, the walk would take the same way again.
 */
#ifndef PRELOAD_UNWIND_MEMO_H
#define PRELOAD_UNWIND_MEMO_H

#include "preload/unwind_walk.h"

#include <stdint.h>

enum {
	MEMO_SETS = 256,
	MEMO_WAYS = 4,
	MEMO_UNIT = 16, /* alignment of entries */
	MEMO_SEEN = 1024,
	MEMO_RING_BYTES = 256 * 1024, /* some 340 stacks of 50 frames; the oldest are overwritten */
};

struct memo_place {
	uint32_t unit; /* counted from the first entry, modulo 2^32 */
	uint32_t tag;
};

struct memo {
	struct memo_place (*sets)[MEMO_WAYS];
	uint16_t *seen; /* parts of the hashes of recent walks, indexed by another part */
	char *ring;
	uint32_t head, floor; /* unit of the next entry; entries before `floor` are stale */
	uint32_t found;	      /* the entry found last */
	uint32_t expected;    /* the one that followed it the last time */
};

/* Returns the hash of the walk from `regs`, and what is stored with it (unwind.h); 0: not
 * remembered, or a word has changed. */
uint64_t memo_find(struct memo *m, const struct unwind_regs *regs, uint64_t with, uint32_t *kept);

/* Stores a value with the walk found last, if that has this hash. */
void memo_keep(struct memo *m, uint64_t hash, uint64_t with, uint32_t value);

/* Remembers a walk that occurs a second time. Remembering walks that occur only once would cost
 * more than the walks. */
void memo_add(struct memo *m, const struct unwind_regs *regs, const struct walk_trail *trail,
	      uint64_t hash);

static inline void memo_clear(struct memo *m)
{
	m->floor = m->head;
}

#endif
