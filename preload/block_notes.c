/* See block_notes.h. */
#include "preload/block_notes.h"

#include "preload/hook.h"

#include <string.h>

enum { PLACE_BITS = 9, PLACES = 1 << PLACE_BITS };

static inline uint64_t note_at(const block_note *notes, uint32_t i)
{
	return atomic_load_explicit(&notes[i], memory_order_relaxed);
}

/* Of each address that was made the place holds one more than the last note of it that did (0: none). */
HOT static uint8_t *find_place(uint8_t *places, const block_note *notes, uint64_t address)
{
	uint32_t at = (uint32_t)((address >> BLOCK_GRANULE_BITS) * 0x9E3779B97F4A7C15ull >>
				 (64 - PLACE_BITS));
	while (places[at] && block_note_address(note_at(notes, places[at] - 1u)) != address)
		at = (at + 1) % PLACES;
	return &places[at];
}

HOT void block_notes_settle(const block_note *notes, uint32_t n, struct block_notes_net *net)
{
	uint8_t places[PLACES] = { 0 };
	memset(net, 0, sizeof(*net));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t note = note_at(notes, i), bit = 1ull << i % 64;
		uint8_t *place = find_place(places, notes, block_note_address(note));
		uint32_t maker = *place - 1u;
		if (block_note_bytes(note) > 0) {
			*place = (uint8_t)(i + 1);
			net->made[i / 64] |= bit;
		} else if (*place && net->made[maker / 64] >> maker % 64 & 1) {
			net->made[maker / 64] &= ~(1ull << maker % 64);
		} else {
			net->gone[i / 64] |= bit;
		}
	}
}
