/* levels_compare() of core/steps/levels_believe.h: whether two choices end the same steps. */
#include "core/steps/levels_believe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Launches of a step, so ends of one step are up to eleven apart. */
enum { CALLS = 44, STEPS = 12 };

/* Ends of a choice, which are three launches that nothing else launches. */
enum { WAS = 10, NOW = 20 };

struct stream {
	struct levels_store store;
	uint64_t n, n_fillers;
};

static void launch(struct stream *s, uint64_t kernel)
{
	const struct level_event event = { .token = kernel * 0x9e3779b97f4a7c15ull | 1,
					   .kernel = kernel,
					   .begin_ns = ++s->n * 1000,
					   .end_ns = s->n * 1000 + 500,
					   .hints = LEVEL_NAMED };
	struct levels_pushed pushed;
	assert_int_equal(levels_store_push(&s->store, 0, event.token, &pushed), 0);
	assert_int_equal(levels_store_keep(&s->store, 0, &event, &pushed), 0);
}

/* The last of its launches comes `apart` launches behind the last one before. */
static void end(struct stream *s, int choice, uint32_t apart)
{
	for (uint32_t i = 3; i < apart; i++)
		launch(s, 1000 + s->n_fillers++);
	for (uint64_t k = 0; k < 3; k++)
		launch(s, (uint64_t)choice + k);
}

static void both_end(struct stream *s, int first, uint32_t apart)
{
	end(s, first, CALLS - apart);
	end(s, WAS + NOW - first, apart);
}

static struct level_choice choice_of(int choice)
{
	uint64_t tokens[3];
	for (uint64_t k = 0; k < 3; k++)
		tokens[k] = ((uint64_t)choice + k) * 0x9e3779b97f4a7c15ull | 1;
	return (struct level_choice){ .anchor = token_trigram(tokens[0], tokens[1], tokens[2]),
				      .calls_per_step = CALLS };
}

static enum levels_agreement compare(struct stream *s)
{
	const struct level_choice was = choice_of(WAS), now = choice_of(NOW);
	assert_int_equal(levels_store_sort(&s->store), 0);
	enum levels_agreement agreement = levels_compare(&s->store, &was, &now);
	levels_store_clear(&s->store);
	return agreement;
}

/* One step ends by `now` first, which comes behind `was` in all others. */
static struct stream swapped_once(uint32_t apart)
{
	struct stream s = { 0 };
	for (int i = 0; i < STEPS; i++)
		both_end(&s, i == STEPS / 2 ? NOW : WAS, apart);
	return s;
}

static void one_after_the_other(void **state)
{
	(void)state;
	struct stream s = { 0 };
	for (int i = 0; i < STEPS; i++)
		both_end(&s, WAS, 20);
	assert_int_equal(compare(&s), LEVELS_SAME);
}

/* Near each other it is the same step whichever comes first, far apart one has missed it. */
static void the_other_one_first(void **state)
{
	(void)state;
	struct stream s = swapped_once(4);
	assert_int_equal(compare(&s), LEVELS_SAME);
	s = swapped_once(11);
	assert_int_equal(compare(&s), LEVELS_SAME);
	s = swapped_once(12);
	assert_int_equal(compare(&s), LEVELS_OTHER);
}

/* The end of the next step is not one of this step, however soon it comes. */
static void one_that_misses_a_step(void **state)
{
	(void)state;
	struct stream s = { 0 };
	for (int i = 0; i < STEPS; i++) {
		if (i == STEPS / 2)
			end(&s, NOW, CALLS);
		else
			both_end(&s, WAS, CALLS - 8);
	}
	end(&s, WAS, 8);
	assert_int_equal(compare(&s), LEVELS_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(the_other_one_first),
		cmocka_unit_test(one_that_misses_a_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
