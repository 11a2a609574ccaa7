/*
 * Notes of memory reports: what one word can hold, and what many add up to, against a plain list of
 * live blocks.
 */
#include "preload/block_notes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROUNDS = 2000, ADDRESSES = 60 };

static void one_word(void **state)
{
	static const struct {
		uint64_t address;
		int64_t bytes;
		bool fits;
	} cases[] = {
		{ 0x7f0000000200, 512, true },
		{ 0x7f0000000200, -512, true },
		{ 0xfffffffffe00, (1ll << 33) - 512, true },
		{ 512, -(1ll << 33) + 512, true },
		{ 0x7f0000000200, 1ll << 33, false },
		{ 0x7f0000000201, 512, false },
		{ 0x7f0000000200, 511, false },
		{ 0x7f0000000200, -100, false },
		{ 1ull << 48, 512, false },
		{ 0x7f0000000200, INT64_MAX, false },
		{ 0x7f0000000200, INT64_MIN, false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t note;
		assert_int_equal(block_note_pack(cases[i].address, cases[i].bytes, &note),
				 cases[i].fits);
		if (!cases[i].fits)
			continue;
		assert_true(block_note_address(note) == cases[i].address);
		assert_true(block_note_bytes(note) == cases[i].bytes);
	}
}

static bool has(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* A few addresses that are used again and again, some live before the first note. */
static void against_a_list(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		block_note notes[BLOCK_NOTES];
		int64_t live[ADDRESSES] = { 0 }, was[ADDRESSES];
		struct block_notes_net net;
		uint32_t n = (uint32_t)(rand() % (BLOCK_NOTES + 1)), gone = 0, made = 0;
		for (int a = 0; a < ADDRESSES; a++)
			was[a] = live[a] = rand() % 2 * 1024;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t note;
			int a = rand() % ADDRESSES;
			int64_t bytes = live[a] ? -live[a] : 512 * (1 + rand() % 100);
			assert_true(
				block_note_pack(0x7f0000000000 + (uint64_t)a * 4096, bytes, &note));
			notes[i] = note;
			live[a] = live[a] ? 0 : bytes;
		}
		block_notes_settle(notes, n, &net);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t a = (block_note_address(notes[i]) - 0x7f0000000000) / 4096;
			if (has(net.gone, i)) {
				assert_true(block_note_bytes(notes[i]) == -was[a]);
				was[a] = 0;
				gone++;
			}
		}
		for (uint32_t i = 0; i < n; i++) {
			uint64_t a = (block_note_address(notes[i]) - 0x7f0000000000) / 4096;
			if (has(net.made, i)) {
				assert_int_equal(was[a], 0);
				was[a] = block_note_bytes(notes[i]);
				made++;
			}
		}
		assert_memory_equal(was, live, sizeof(live));
		assert_true(gone <= ADDRESSES && made <= ADDRESSES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_word),
		cmocka_unit_test(against_a_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
