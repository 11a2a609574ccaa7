/*
 * See steps_seen.h. A place holds 31 bits of a hash, and one bit that says whether the hash
 * occurred twice. If two threads write the same place at once, one stack too many or too few is
 * taken, which does no harm.
 */
#include "preload/steps_seen.h"

#include <stdatomic.h>

enum {
	PLACES = 1 << 14, /* 64 KiB, touched as needed; programs have a few thousand trigrams */
	TRIES = 4,
};

static _Atomic uint32_t places[PLACES];
/* whether a place is used; if not, steps_seen_forget touches no pages */
static _Atomic bool is_any;

bool steps_seen_is_new(uint64_t hash)
{
	/* tags are odd when first stored; an anchor's hash is odd anyway */
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
