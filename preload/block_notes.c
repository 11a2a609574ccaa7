/* See block_notes.h. */
#include "preload/block_notes.h"

#include "preload/hook.h"

#include <string.h>

enum { PLACE_BITS = 9 };
_Static_assert(sizeof((struct block_notes_index *)0)->places == 1 << PLACE_BITS, "a hash's bits");

static inline uint64_t note_at(const block_note *notes, uint32_t i)
{
	return atomic_load_explicit(&notes[i], memory_order_relaxed);
}

/*
 * Returns the slot that has the address, or else a free slot for it. A free slot always exists,
 * because there are 512 slots for at most 255 notes.
 */
HOT static inline uint32_t find_place(const struct block_notes_index *x, const block_note *notes,
				      uint64_t address)
{
	uint32_t at = (uint32_t)((address >> BLOCK_GRANULE_BITS) * 0x9E3779B97F4A7C15ull >>
				 (64 - PLACE_BITS));
	while (x->places[at] && block_note_address(note_at(notes, x->places[at] - 1u)) != address)
		at = (at + 1) % (1 << PLACE_BITS);
	return at;
}

void block_notes_index(const block_note *notes, uint32_t n, struct block_notes_index *index)
{
	memset(index, 0, sizeof(*index));
	for (uint32_t i = 0; i < n; i++)
		index->places[find_place(index, notes, block_note_address(note_at(notes, i)))] =
			(uint8_t)(i + 1);
}

int block_notes_last(const struct block_notes_index *index, const block_note *notes,
		     uint64_t address)
{
	return (int)index->places[find_place(index, notes, address)] - 1;
}

HOT void block_notes_settle(const block_note *notes, uint32_t n, struct block_notes_net *net)
{
	struct block_notes_index index = { { 0 } };
	memset(net, 0, sizeof(*net));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t note = note_at(notes, i), bit = 1ull << i % 64;
		uint8_t *place = &index.places[find_place(&index, notes, block_note_address(note))];
		uint32_t before = *place - 1u;
		if (block_note_bytes(note) > 0)
			net->made[i / 64] |= bit;
		else if (*place && net->made[before / 64] >> before % 64 & 1)
			net->made[before / 64] &= ~(1ull << before % 64);
		else
			net->gone[i / 64] |= bit;
		*place = (uint8_t)(i + 1);
	}
}
