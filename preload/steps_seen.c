/*
 * See steps_seen.h. A place holds 31 bits of the hash and whether it occurred twice. If two threads
 * collide, they take a stack too many or too few, which does no harm.
 */
#include "preload/steps_seen.h"

#include <stdatomic.h>

enum {
	PLACES = 1 << 14, /* 64 KiB, touched as needed; programs have a few thousand trigrams */
	TRIES = 4,
};

static _Atomic uint32_t places[PLACES];
static _Atomic bool is_any; /* avoids touching unused pages in steps_seen_forget */

bool steps_seen_is_new(uint64_t hash)
{
	/* the lowest bit of an anchor's hash is always set */
	uint32_t tag = (uint32_t)(hash >> 32) | 1;
	for (uint32_t i = 0; i < TRIES; i++) {
		_Atomic uint32_t *at = &places[((hash >> 1) + i) % PLACES];
		uint32_t there = atomic_load_explicit(at, memory_order_relaxed);
		if (there == (tag ^ 1))
			return false;
		if (there && there != tag)
			continue;
		atomic_store_explicit(&is_any, true, memory_order_relaxed);
		atomic_store_explicit(at, there ? tag ^ 1 : tag, memory_order_relaxed);
		return true;
	}
	return false;
}

void steps_seen_forget(void)
{
	for (uint32_t i = 0; i < PLACES && is_any; i++)
		atomic_store_explicit(&places[i], 0, memory_order_relaxed);
	is_any = false;
}
