/*
 * The walks that a thread remembers. Each entry has the registers from which the walk began, every
 * word that the walk read, and its hash. If all these words are unchanged, a walk from these
 * registers would take the same steps again.
 */
#ifndef PRELOAD_UNWIND_MEMO_H
#define PRELOAD_UNWIND_MEMO_H

#include "preload/unwind_walk.h"

#include <stdint.h>

enum {
	MEMO_SETS = 256,
	MEMO_WAYS = 4,
	MEMO_UNIT = 16, /* entries are multiples of this many bytes */
	MEMO_SEEN = 1024,
	/* some 340 stacks of 50 frames; new entries overwrite the oldest */
	MEMO_RING_BYTES = 256 * 1024,
};

struct memo_place {
	/* position in the ring, counted in MEMO_UNIT bytes from the first entry ever added, modulo
	 * 2^32 */
	uint32_t unit;
	uint32_t tag;
};

struct memo {
	struct memo_place (*sets)[MEMO_WAYS];
	/* part of the hash of each recent walk, at an index that is another part of the hash */
	uint16_t *seen;
	char *ring;
	/* `head`: unit of the next entry; `floor`: entries at earlier units are stale */
	uint32_t head, floor;
	uint32_t found;	   /* unit of the entry found last */
	uint32_t expected; /* unit of the entry that followed `found` the last time */
};

/* Returns the hash of a remembered walk from `regs`. Returns 0 if no walk is remembered, or a word
 * has changed. Sets `kept` as unwind_walk() does (unwind.h). */
uint64_t memo_find(struct memo *m, const struct unwind_regs *regs, uint64_t with, uint32_t *kept);

/* Stores `value` and `with` in the entry found last, if that entry has this hash. */
void memo_keep(struct memo *m, uint64_t hash, uint64_t with, uint32_t value);

/* Remembers the walk if it occurs for the second time. Remembering walks that occur only once would
 * cost more than the walks themselves. */
void memo_add(struct memo *m, const struct unwind_regs *regs, const struct walk_trail *trail,
	      uint64_t hash);

static inline void memo_clear(struct memo *m)
{
	m->floor = m->head;
}

#endif
