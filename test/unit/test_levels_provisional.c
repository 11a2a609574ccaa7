/*
 * Steps that are counted provisional do not stay so forever: meanwhile launches go to the journal
 * and are kept.
 */
#include "core/steps/learn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { FORWARD = 40, BACKWARD = 45, OPTIMIZER = 3, EVENTS = 500000, MINUTES = 5 };

struct stream {
	struct levels *levels;
	uint64_t now_ns, n_odd;
};

/* A launch of a `kernel` on `size` blocks. */
static void feed_sized(struct stream *s, uint64_t kernel, uint64_t size, uint32_t hints,
		       uint64_t took_ns)
{
	const struct level_event event = {
		.token = ((kernel + (size << 32)) * 0x9e3779b97f4a7c15ull) | 1,
		.kernel = kernel,
		.begin_ns = s->now_ns,
		.end_ns = s->now_ns + 1000,
		.hints = hints | LEVEL_NAMED
	};
	assert_int_equal(levels_feed(s->levels, 0, &event), 0);
	s->now_ns += took_ns;
}

static void feed(struct stream *s, uint64_t kernel, uint32_t hints, uint64_t took_ns)
{
	feed_sized(s, kernel, 0, hints, took_ns);
}

static void step(struct stream *s)
{
	for (uint64_t k = 1; k <= FORWARD + BACKWARD; k++)
		feed(s, k, 0, 5000);
	for (uint64_t k = 1; k <= OPTIMIZER; k++)
		feed(s, 1000 + k, LEVEL_OPTIMIZER, 5000);
}

static void odd(struct stream *s, uint64_t took_ns)
{
	feed(s, 1000000 + s->n_odd++, 0, took_ns);
}

static bool is_provisional(struct stream *s)
{
	struct level_choice choice;
	assert_true(levels_vote(s->levels, &choice));
	return choice.is_provisional;
}

/* After as few iterations as that takes. */
static struct stream begin(void)
{
	struct stream s = { .levels = levels_new() };
	struct level_choice choice;
	while (!levels_vote(s.levels, &choice)) {
		step(&s);
		assert_in_range(s.now_ns, 0, 8ull * 5000 * (FORWARD + BACKWARD + OPTIMIZER));
	}
	assert_true(choice.is_provisional);
	return s;
}

static void ends_after_too_many_launches(void **state)
{
	struct stream s = begin();
	(void)state;
	while (s.n_odd < EVENTS - 1) {
		odd(&s, 10);
		if (s.n_odd % 50000 == 0 && s.n_odd < EVENTS)
			assert_true(is_provisional(&s));
	}
	for (int i = 0; i < 10; i++)
		odd(&s, 10);
	assert_false(is_provisional(&s));
	levels_free(s.levels);
}

static void ends_after_too_long(void **state)
{
	struct stream s = begin();
	(void)state;
	for (int i = 1; i < MINUTES * 60; i++) {
		odd(&s, 1000000000);
		assert_true(is_provisional(&s));
	}
	odd(&s, 2000000000);
	odd(&s, 0);
	assert_false(is_provisional(&s));
	levels_free(s.levels);
}

/* The library hears that they stand: their calls have waited in memory for it. */
static void ends_where_too_many_calls_are_held(void **state)
{
	struct stream s = begin();
	struct journal_header header = { 0 };
	struct ingest f = { .reader.header = &header, .holds_steps = true };
	struct learn l = { .levels = s.levels, .state = STEP_STATE_PROVISIONAL, .has_base = true };
	(void)state;
	header.steps.anchor_generation = l.generation = l.provisional_generation = 1;
	levels_vote(l.levels, &l.choice);
	f.n_pending = 1000000;
	learn_tell(&l, &f);
	assert_true(learn_is_provisional(&l) && f.holds_steps);
	f.n_pending++;
	learn_tell(&l, &f);
	assert_false(learn_is_provisional(&l) || f.holds_steps);
	assert_int_equal(header.steps.sure_generation, 1);
	learn_stop(&l);
}

/*
 * The launches of Transformers' GPT-2 for a token, with four layers. GROWS asks for another block
 * as the cache grows; the longest pause comes soon after it.
 */
static const uint8_t token[] = {
	0,  1,	1,  2,	2,  3,	4,  5,	6,  7,	0,  8,	9,  10, 10, 11, 12, 3,	8,  13, 14,
	15, 14, 16, 14, 17, 18, 19, 12, 3,  8,	9,  10, 10, 11, 12, 3,	8,  13, 14, 15, 14,
	16, 14, 17, 18, 19, 12, 3,  8,	9,  10, 10, 11, 12, 3,	8,  13, 14, 15, 14, 16, 14,
	17, 18, 19, 12, 3,  8,	9,  10, 10, 11, 12, 3,	8,  13, 14, 15, 14, 16, 14, 17, 18,
	19, 12, 3,  8,	20, 21, 22, 23, 24, 25, 24, 26, 27, 24, 28, 28, 29, 30, 31, 32, 7,
};
enum { TOKEN = sizeof(token), GROWS = 8, READ_BACK = 10, COPIED = 95 };

/* Two results are read back and waited for. */
static uint32_t hints_of(uint64_t k)
{
	if (k == 0 || k == READ_BACK)
		return LEVEL_COPY | LEVEL_D2H;
	return k == 1 || k == READ_BACK + 1 ? LEVEL_SYNCED : k == COPIED ? LEVEL_COPY : 0;
}

static void decode(struct stream *s, uint64_t iteration)
{
	static const uint64_t grown_at[] = { 7, 23, 55 };
	uint64_t size = 0;
	while (size < 3 && iteration >= grown_at[size])
		size++;
	for (uint64_t k = 0; k < TOKEN; k++) {
		uint64_t kernel = k == GROWS ? 2000 + size : 1u + token[k];
		feed(s, kernel, hints_of(k), k == READ_BACK ? 90000 : 10000);
	}
}

/*
 * In the second half of the iterations the grown launch's place comes in all of them: that is no
 * other step.
 */
static void counts_on_where_shapes_change(void **state)
{
	struct stream s = { .levels = levels_new() };
	struct level_choice choice;
	(void)state;
	for (uint64_t iteration = 0; iteration < 80; iteration++) {
		decode(&s, iteration);
		if (!levels_vote(s.levels, &choice))
			continue;
		assert_int_not_equal(choice.change, LEVEL_CORRECTED);
		assert_int_equal(choice.calls_per_step, TOKEN);
	}
	assert_false(choice.is_provisional);
	levels_free(s.levels);
}

enum { DRAFT = 3000, CHECKED = 3100, PROMPT = 3200, DRAFTED = 4, ROUNDS = 18 };

/* Launches grow with the text, each at lengths of its own. */
static void launch_grown(struct stream *s, uint64_t first, uint64_t n, uint64_t length)
{
	for (uint64_t k = 0; k < n; k++)
		feed_sized(s, first + k, length / (3 + k % 4 * 3), LEVEL_NAMED, 10000);
}

/*
 * A small model drafts some tokens, a large one checks them, and the host reads how many are right.
 */
static uint64_t speculate(struct stream *s, uint64_t length, uint64_t round)
{
	for (uint64_t k = 0; k < DRAFTED; k++)
		launch_grown(s, DRAFT, 9, length + k);
	launch_grown(s, CHECKED, 30, length + DRAFTED);
	feed(s, 1, LEVEL_COPY | LEVEL_D2H, 10000);
	feed(s, CHECKED + 50, LEVEL_NAMED | LEVEL_SYNCED, 10000);
	feed(s, CHECKED + 51, LEVEL_NAMED, 90000);
	return length + 1 + round * 7 % 5 % (DRAFTED + 1);
}

/*
 * Each text has its own length, so that three launches in a row seldom come in all of them. What
 * comes once for each prompt is no other step.
 */
static void counts_rounds_of_many_prompts(void **state)
{
	struct stream s = { .levels = levels_new() };
	struct level_choice choice;
	(void)state;
	for (uint64_t prompt = 0; prompt < 10; prompt++) {
		uint64_t length = 5 + prompt * 5 % 7;
		feed(&s, 2, LEVEL_COPY | LEVEL_H2D, 10000);
		for (uint64_t round = 0; round < ROUNDS - prompt % 3; round++) {
			length = speculate(&s, length, round * (prompt + 2));
			if (levels_vote(s.levels, &choice))
				assert_int_not_equal(choice.change, LEVEL_CORRECTED);
		}
		feed(&s, PROMPT, LEVEL_NAMED, 10000);
		feed(&s, 1, LEVEL_COPY | LEVEL_D2H, 90000);
	}
	assert_true(levels_vote(s.levels, &choice));
	assert_in_range(choice.calls_per_step, 60, 75);
	levels_free(s.levels);
}

enum { DENOISE = 80, IMAGES = 50 };

/*
 * One of the iterations that make an image. `before_end` launches before its end, the last one
 * makes a value of its own, where the others use an existing one. Between images the next one is
 * begun.
 */
static void denoise(struct stream *s, uint64_t iteration, uint64_t before_end)
{
	bool is_last = iteration % IMAGES == IMAGES - 1;
	for (uint64_t k = 1; k <= DENOISE; k++) {
		if (is_last && k == DENOISE - before_end)
			feed(s, 500, LEVEL_NAMED, 5000);
		feed(s, 100 + k, LEVEL_NAMED, 5000);
	}
	feed(s, 1, LEVEL_COPY | LEVEL_D2H, 90000);
	for (uint64_t k = 0; is_last && k < 10; k++)
		feed(s, 600 + k, LEVEL_NAMED, 5000);
}

/*
 * Recorded steps that are counted provisional are kept although another backup ends one step of
 * fifty a launch earlier.
 */
static void stays_where_some_steps_have_one_launch_more(void **state)
{
	(void)state;
	for (uint64_t before_end = 0; before_end < 2 * (DENOISE / 4); before_end++) {
		struct stream s = { .levels = levels_new() };
		struct level_choice choice = { .is_provisional = true };
		for (uint64_t i = 0; choice.is_provisional && i < 4 * IMAGES; i++) {
			denoise(&s, i, before_end);
			levels_vote(s.levels, &choice);
		}
		assert_false(choice.is_provisional);
		assert_int_not_equal(choice.change, LEVEL_CORRECTED);
		levels_free(s.levels);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_after_too_many_launches),
		cmocka_unit_test(ends_after_too_long),
		cmocka_unit_test(ends_where_too_many_calls_are_held),
		cmocka_unit_test(counts_on_where_shapes_change),
		cmocka_unit_test(counts_rounds_of_many_prompts),
		cmocka_unit_test(stays_where_some_steps_have_one_launch_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
