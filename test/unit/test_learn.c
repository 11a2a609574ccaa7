/*
 * What the library counted before its numbers were known, as the collector finds it thread by
 * thread.
 */
#include "core/steps/learn.h"
#include "core/steps/learn_parts.h"

#include "test/unit/journal_builder.h"
#include "test/unit/journal_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { GENERATION = 3 };

static void count(struct learn *l, struct ingest *f, uint64_t number, uint32_t generation)
{
	const struct rec_step step = { .event = STEP_COUNTED,
				       .generation = generation,
				       .number = number,
				       .ticks = number * 1000 };
	learn_count(l, f, &step);
}

/*
 * The thread that counted the first step may be read after the one that counted the second. The
 * smallest number must come first.
 */
static void first_one_read_late(void **state)
{
	struct learn l = { .generation = GENERATION };
	struct ingest f = { 0 };
	(void)state;
	count(&l, &f, 3, GENERATION);
	count(&l, &f, 2, GENERATION);
	count(&l, &f, 1, GENERATION - 1); /* of an anchor that was given up */
	assert_int_equal(l.counted.at[0].number, 2);
	count(&l, &f, 1, GENERATION);
	count(&l, &f, 4, GENERATION);
	assert_int_equal(l.counted.n, 4);
	assert_int_equal(l.counted.at[0].number, 1);
	unsigned seen = 0;
	for (size_t i = 0; i < l.counted.n; i++)
		seen |= 1u << l.counted.at[i].number;
	assert_int_equal(seen, 0x1e);
	vec_free(&l.counted);
}

/*
 * Returns the base that the library gets: five steps had ended when the anchor was chosen; `first`
 * is the first that it counted.
 */
static uint64_t base_told(uint64_t first)
{
	struct journal_header header = { 0 };
	struct ingest f = { .reader.header = &header,
			    .read_until_ticks = UINT64_MAX / 2,
			    .one_step = true };
	struct learn l = { .generation = GENERATION,
			   .state = STEP_STATE_CONFIRMED,
			   .n_ended_before = 5,
			   .levels = levels_new() };
	f.time = (struct timebase){ .ns_per_tick_q48 = 1ull << 48, .ticks_per_second = 1000000000 };
	for (uint64_t number = 1; number < first + 3; number++)
		vec_push(&l.hits, ((struct anchor_hit){ .ticks = number * 1000 - 1 }));
	for (uint64_t number = first; number < first + 3; number++)
		count(&l, &f, number, GENERATION);
	assert_true(f.holds_unnumbered);
	assert_true(learn_tell(&l, &f));
	assert_false(f.holds_unnumbered);
	assert_int_equal(header.steps.base_generation, GENERATION);
	levels_free(l.levels);
	vec_free(&l.counted);
	return header.steps.base;
}

/* A full journal has dropped the first ones: the numbers are the same, and known. */
static void first_ones_dropped(void **state)
{
	(void)state;
	assert_int_equal(base_told(1), 5);
	assert_int_equal(base_told(2), 5);
	assert_int_equal(base_told(4), 5);
}

enum { OPENING_LAUNCHES = 30, LATER_LAUNCHES = 1000, APART_NS = 1000 };

/* Feeds launches of the opening and then later ones. Returns how many of the later ones are held.
 */
static size_t held_after_opening(bool library_counts)
{
	struct journal_builder *b = jb_new(4, 4096);
	const struct ingest_sink sink = { 0 };
	struct ingest f;
	struct learn l;
	struct err e;
	jb_thread(b, 1, 100, "main");
	b->header->steps.opening_end_ticks = JB_START + OPENING_LAUNCHES * APART_NS;
	jb_write(b, path);
	assert_int_equal(ingest_open(&f, path, false, &sink, &e), 0);
	f.opening.is_any = true;
	learn_start(&l);
	for (uint32_t i = 0; i < OPENING_LAUNCHES + LATER_LAUNCHES; i++) {
		const struct rec_call launch = { .kind = REC_CALL,
						 .words = sizeof(launch) / 8,
						 .hook = JB_LAUNCH,
						 .begin_ticks = JB_START + i * APART_NS,
						 .arg = 1 + i % 5 };
		learn_feed(&l, &f, 1, &launch);
		l.has_base = library_counts && i >= OPENING_LAUNCHES;
	}
	assert_true(l.loops.is_started);
	size_t n = l.loops.after.n;
	learn_stop(&l);
	ingest_close(&f);
	jb_free(b);
	return n;
}

/* Only loops use them, to count the steps since the opening, and only as long as the library does
 * not count any. */
static void launches_are_held_only_if_they_will_be_counted(void **state)
{
	(void)state;
	assert_int_equal(held_after_opening(false), LATER_LAUNCHES);
	assert_int_equal(held_after_opening(true), 0);
}

/*
 * The end of the opening ends each doubt, even if an earlier anchor has settled the loops: no loop
 * can contradict the steps any more, and a doubted anchor is never confirmed.
 */
static void the_opening_ends_doubt(void **state)
{
	struct journal_header header = { 0 };
	struct ingest f = { .reader.header = &header };
	struct learn l = { .is_doubted = true, .loops.is_settled = true };
	(void)state;
	f.opening.is_disputed = true;
	learn_adopt(&l, &f);
	assert_true(l.is_doubted);
	f.opening.end_ticks = 1000;
	assert_false(learn_adopt(&l, &f));
	assert_false(l.is_doubted);
	assert_false(f.opening.is_disputed);
	learn_stop(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_one_read_late),
		cmocka_unit_test(first_ones_dropped),
		cmocka_unit_test(launches_are_held_only_if_they_will_be_counted),
		cmocka_unit_test(the_opening_ends_doubt),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
