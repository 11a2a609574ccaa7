/*
 * Step learning's first answers on made launch sequences: what the first five steps show already,
 * and what they leave open. All else is in test_levels.c.
 */
#include "test/steps/sequence.h"

#include "core/runtime/record.h"
#include "core/runtime/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FORWARD = 100, BACKWARD = 300, OPTIMIZER = 500, CHECK = 700, OTHERS = 20000 };

static uint64_t random_state;

static bool chance(uint32_t percent)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % 100 < percent;
}

static void launch(struct sequence *s, uint32_t k, uint32_t hints)
{
	uint64_t token = token_launch(0x400000 + 16ull * k, (uint32_t[3]){ 1, 1, 1 },
				      (uint32_t[3]){ 128, 1, 1 });
	sequence_add(s, 0, token, hints | LEVEL_NAMED);
}

static void launch_range(struct sequence *s, uint32_t first, uint32_t n, uint32_t hints)
{
	for (uint32_t k = first; k < first + n; k++)
		launch(s, k, hints);
}

static void copy(struct sequence *s, uint32_t kind, uint32_t hint)
{
	sequence_add(s, 0, token_copy(kind), hint | LEVEL_COPY);
}

static void check_known_after(const struct sequence *s, double within_steps)
{
	struct sequence_result r;
	sequence_run(s, 1, false, &r);
	if (!r.locked || r.corrected || r.one_per_step < 1 || r.locked_steps > within_steps)
		fail_msg("locked %d, corrected %d, after %.1f steps, one boundary a step in %.3f",
			 r.locked, r.corrected, r.locked_steps, r.one_per_step);
}

/* Steps are found, with one boundary in each. */
static void check_found(const struct sequence *s, struct sequence_result *r)
{
	sequence_run(s, 1, false, r);
	assert_true(r->locked);
	assert_true(r->one_per_step == 1);
}

/* No step, or one boundary in most of them. */
static void check_mostly_right(const struct sequence *s)
{
	struct sequence_result r;
	sequence_run(s, 1, true, &r);
	if (r.locked && r.one_per_step < 0.8)
		fail_msg("after %.1f steps: one boundary a step in %.3f of %u", r.locked_steps,
			 r.one_per_step, r.n_steps);
}

/* A loss scale that begins too high: the first steps end without the optimizer. */
static void test_optimizer_skipped_at_first(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 30; i++) {
		launch_range(&s, FORWARD, 30, 0);
		launch_range(&s, BACKWARD, 40, 0);
		if (i >= 2)
			launch_range(&s, OPTIMIZER, 6, LEVEL_OPTIMIZER);
		launch_range(&s, CHECK, 4, 0);
		sequence_end_step(&s);
	}
	check_known_after(&s, 6);
	sequence_free(&s);
}

static void evaluate(struct sequence *s, uint32_t batches, uint32_t layers)
{
	for (uint32_t i = 0; i < batches; i++) {
		copy(s, COPY_H2D, LEVEL_H2D);
		launch_range(s, FORWARD, layers, LEVEL_NAMED);
		copy(s, COPY_D2H, LEVEL_D2H);
	}
}

/*
 * Two batches of an evaluation come first, with a step's first launches, and more of them after
 * every tenth step.
 */
static void test_evaluated_before_the_first_step(void **state)
{
	(void)state;
	for (uint32_t layers = 10; layers <= 60; layers += 10) {
		struct sequence s = { 0 };
		evaluate(&s, 2, layers);
		sequence_end(&s, END_FREE);
		for (int i = 1; i <= 60; i++) {
			copy(&s, COPY_H2D, LEVEL_H2D);
			launch_range(&s, FORWARD, layers, LEVEL_NAMED);
			launch_range(&s, BACKWARD, 12, LEVEL_NAMED);
			launch_range(&s, OPTIMIZER, 4, LEVEL_NAMED | LEVEL_OPTIMIZER);
			sequence_end_step(&s);
			if (i % 10 == 0)
				evaluate(&s, 6, layers);
		}
		check_known_after(&s, 5);
		sequence_free(&s);
	}
}

/*
 * After its first steps, a program evaluates on more batches than suffice for an answer. It trains,
 * so these are not its steps, and the first ones count.
 */
static void test_evaluated_after_the_first_steps(void **state)
{
	(void)state;
	for (uint32_t before = 1; before <= 2; before++)
		for (uint32_t batches = 20; batches <= 200; batches += 60) {
			struct sequence s = { 0 };
			struct sequence_result r;
			for (uint32_t i = 0; i < 60; i++) {
				copy(&s, COPY_H2D, LEVEL_H2D);
				launch_range(&s, FORWARD, 40, 0);
				launch_range(&s, BACKWARD, 50, 0);
				launch_range(&s, OPTIMIZER, 4, LEVEL_OPTIMIZER);
				sequence_end_step(&s);
				if (i + 1 == before)
					evaluate(&s, batches, 40);
			}
			check_found(&s, &r);
			assert_false(r.corrected);
			sequence_free(&s);
		}
}

/* ...which is no accumulation: there every other turn has one. */
static void test_every_other_iteration_has_the_optimizer(void **state)
{
	(void)state;
	struct sequence_result r;
	struct sequence s = { 0 };
	for (int i = 0; i < 60; i++) {
		launch_range(&s, FORWARD, 30, 0);
		launch_range(&s, BACKWARD, 40, 0);
		if (i % 2)
			launch_range(&s, OPTIMIZER, 6, LEVEL_OPTIMIZER);
		if (i % 2)
			sequence_end_step(&s);
	}
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked && !r.corrected);
	assert_true(r.one_per_step == 1);
	sequence_free(&s);
}

static void eager_steps(struct sequence *s, uint32_t n, uint32_t calls)
{
	for (uint32_t i = 0; i < n; i++) {
		launch_range(s, FORWARD, calls, 0);
		launch_range(s, OPTIMIZER, 6, LEVEL_OPTIMIZER);
	}
}

/* Their steps make too many calls for any share of the whole to be the graphs' alone. */
static void test_graphs_after_long_steps(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct sequence_result r;
	eager_steps(&s, 3, 900);
	sequence_end(&s, END_FREE);
	uint32_t begin = s.n;
	for (int i = 0; i < 60; i++) {
		copy(&s, COPY_H2D, LEVEL_H2D);
		sequence_add(&s, 0, token_graph(0xabc0), LEVEL_GRAPH);
		copy(&s, COPY_D2H, LEVEL_D2H);
		sequence_end_step(&s);
	}
	check_found(&s, &r);
	assert_in_range(r.locked_at, begin, begin + 3 * 4);
	sequence_free(&s);
}

/*
 * Two graphs hold everything but an optimizer that updates parameter by parameter. Few launches
 * come before its first one, and still its loop is no more than the step.
 */
static void test_optimizer_after_graphs(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 30; i++) {
		copy(&s, COPY_H2D, LEVEL_H2D);
		sequence_add(&s, 0, token_graph(0xabc0), LEVEL_GRAPH);
		sequence_add(&s, 0, token_graph(0xabc1), LEVEL_GRAPH);
		for (uint32_t k = 0; k < 14; k++)
			launch_range(&s, OPTIMIZER + k % 3 * 10, 4, LEVEL_NAMED | LEVEL_OPTIMIZER);
		sequence_end_step(&s);
	}
	check_known_after(&s, 5);
	sequence_free(&s);
}

/* Of one call a iteration, three make the anchor. */
static void test_one_launch_and_a_wait(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct sequence_result r;
	for (int i = 0; i < 100; i++) {
		launch(&s, FORWARD, LEVEL_SYNCED);
		sequence_end_step(&s);
	}
	check_known_after(&s, 6);
	sequence_run(&s, 1, false, &r);
	assert_int_equal(r.n_before, r.numbered_at); /* the first two steps, too */
	sequence_free(&s);
}

/*
 * Where launches come and go, the anchor is waited for a little longer than in the first
 * iterations. Otherwise the step ends before it.
 */
static void test_launches_between_come_and_go(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct sequence_result r;
	random_state = 7;
	for (int i = 0; i < 60; i++) {
		launch_range(&s, FORWARD, 190, 0);
		for (uint32_t k = 0; k < 150; k++) {
			launch(&s, OPTIMIZER + k % 3, LEVEL_OPTIMIZER);
			if (chance(3))
				launch(&s, CHECK, LEVEL_OPTIMIZER);
		}
		launch_range(&s, OPTIMIZER + 10, 3, LEVEL_OPTIMIZER);
		sequence_end_step(&s);
	}
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked);
	if (r.exact < 0.9)
		fail_msg("the step's end is a boundary in %.3f of %u", r.exact, r.n_steps);
	sequence_free(&s);
}

/*
 * A sample is thirty iterations, of which one in a few holds a launch that never comes again. Until
 * the second sample's end has been read, only the end of the first one shows that they belong
 * together.
 */
static void test_read_once_so_far(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct sequence_result r;
	uint32_t n_others = OTHERS;
	random_state = 3;
	for (int i = 0; i < 30; i++) {
		launch(&s, CHECK, 0);
		for (int k = 0; k < 30; k++) {
			launch_range(&s, FORWARD, 20, 0);
			if (chance(20))
				launch(&s, n_others++, 0);
		}
		copy(&s, COPY_D2H, LEVEL_D2H);
		sequence_end_step(&s);
	}
	sequence_run(&s, 1, false, &r);
	if (r.locked && r.one_per_step < 1)
		fail_msg("after %.1f steps: one boundary a step in %.3f", r.locked_steps,
			 r.one_per_step);
	sequence_free(&s);
}

/*
 * A game has any number of moves: no two iterations are alike, except that each ends with the
 * optimizer.
 */
static void test_optimizer_after_a_varying_number_of_moves(void **state)
{
	(void)state;
	static const int moves[] = { 12, 40, 9, 33, 25, 11, 38, 17 };
	struct sequence s = { 0 };
	struct sequence_result r;
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < moves[i % 8]; k++) {
			copy(&s, COPY_H2D, LEVEL_H2D);
			launch_range(&s, FORWARD, 20, LEVEL_NAMED);
			copy(&s, COPY_D2H, LEVEL_D2H);
		}
		launch_range(&s, BACKWARD, 30, LEVEL_NAMED);
		launch_range(&s, OPTIMIZER, 6, LEVEL_NAMED | LEVEL_OPTIMIZER);
		sequence_end_step(&s);
	}
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked);
	if (r.one_per_step < 1 || r.locked_steps > 5)
		fail_msg("after %.1f steps: one boundary a step in %.3f", r.locked_steps,
			 r.one_per_step);
	sequence_free(&s);
}

/* Requests have a beginning and an answer in common, and nothing between. */
static void test_requests_that_differ(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	random_state = 5;
	for (int i = 0; i < 40; i++) {
		copy(&s, COPY_H2D, LEVEL_H2D);
		launch_range(&s, FORWARD, 4, 0);
		for (uint32_t k = 0; k < 40; k++)
			if (chance(40))
				launch(&s, CHECK + k * (k + (uint32_t)i % 7), 0);
		copy(&s, COPY_D2H, LEVEL_D2H);
		sequence_end_step(&s);
	}
	check_known_after(&s, 6);
	sequence_free(&s);
}

/*
 * Micro-batches, and after every fourth an optimizer that nothing identifies. Launches are lost, so
 * that no loop of the step's own can be found. Still the micro-batches' loop is not the step.
 */
static void test_work_of_another_kind(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	random_state = 9;
	for (int i = 0; i < 40; i++) {
		for (uint32_t k = 0; k < 4 * 60; k++)
			if (!chance(2))
				launch(&s, FORWARD + k % 60, 0);
		launch(&s, OPTIMIZER, 0);
		launch(&s, OPTIMIZER + (chance(50) ? 1 : 2), 0);
		launch(&s, OPTIMIZER + (chance(50) ? 3 : 4), 0);
		launch(&s, OPTIMIZER + (chance(50) ? 5 : 6), 0);
		sequence_end_step(&s);
	}
	check_mostly_right(&s);
	sequence_free(&s);
}

/*
 * An optimizer after each of many calls, of which few are lost: a coincidence left once in some
 * steps is no step.
 */
static void test_chance_is_no_loop(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	random_state = 11;
	for (int i = 0; i < 60; i++) {
		for (uint32_t k = 0; k < 1600; k++)
			if (!chance(2))
				launch(&s, FORWARD + k % 400 % 37, 0);
		for (uint32_t k = 0; k < 24; k++)
			if (!chance(2))
				launch(&s, OPTIMIZER + k % 2, LEVEL_OPTIMIZER);
		sequence_end_step(&s);
	}
	check_mostly_right(&s);
	sequence_free(&s);
}

/*
 * torch.compile: the first step has thousands of launches that try out kernels, after the first few
 * of its forward pass. Only those few are a first step, and then single steps, apart. The step
 * still ends after its optimizer, and the first one is counted.
 */
static void test_first_step_compiles(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct sequence_result r;
	for (int i = 0; i < 40; i++) {
		launch_range(&s, FORWARD, 6, 0);
		for (uint32_t k = 0; i == 0 && k < 600; k++)
			launch_range(&s, OTHERS + k / 100 * 3, 3, 0);
		launch_range(&s, BACKWARD, 12, 0);
		launch_range(&s, OPTIMIZER, 6, LEVEL_OPTIMIZER);
		sequence_end_step(&s);
	}
	check_found(&s, &r);
	assert_true(r.exact == 1);
	uint64_t n_ended = 0;
	while (n_ended < s.n_ends && s.ends[n_ended] <= r.numbered_at)
		n_ended++;
	assert_int_equal(r.n_before, n_ended);
	sequence_free(&s);
}

/* A bare loop behind the same is found, too: its beginning is the stream's. */
static void test_bare_loop_with_a_long_first_iteration(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct sequence_result r;
	for (int i = 0; i < 300; i++) {
		launch_range(&s, FORWARD, 5, 0);
		for (uint32_t k = 0; i == 0 && k < 80; k++)
			launch_range(&s, OTHERS + k / 20 * 3, 3, 0);
		launch_range(&s, BACKWARD, 5, 0);
		sequence_end_step(&s);
	}
	check_found(&s, &r);
	sequence_free(&s);
}

static void launch_of(struct sequence *s, uint32_t thread, uint32_t first, uint32_t n,
		      uint32_t hints)
{
	for (uint32_t k = first; k < first + n; k++)
		sequence_add(s, thread,
			     token_launch(0x400000 + 16ull * k, (uint32_t[3]){ 1, 1, 1 },
					  (uint32_t[3]){ 128, 1, 1 }),
			     hints | LEVEL_NAMED);
}

/*
 * A trunk and one of three heads, chosen at random; the optimizer's launches are as large as the
 * head. No head's steps form a larger step, as those of a GAN's two networks do, which come in the
 * same order. What ends a step lies in the next one's first launches.
 */
static void test_one_of_several_heads(void **state)
{
	enum { HEADS = 1000, APART = 100 };
	struct sequence_result r;
	struct sequence s = { 0 };
	(void)state;
	random_state = 5;
	for (int i = 0; i < 120; i++) {
		uint32_t head = chance(50) ? 0 : chance(60) ? 1 : 2, at = HEADS + head * APART;
		launch_of(&s, 0, FORWARD, 6, 0);
		launch_of(&s, 0, at, 4 + 2 * head, 0);
		launch_of(&s, 1, at + 20, 5 + 2 * head, 0);
		launch_of(&s, 1, BACKWARD, 6, 0);
		launch_of(&s, 0, at + 40, 6, LEVEL_OPTIMIZER);
		sequence_end_step(&s);
	}
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked && !r.corrected);
	assert_true(r.one_per_step == 1);
	assert_in_range(r.typical_late, 1, 6);
	uint64_t ended = 0;
	while (ended < s.n_ends && s.ends[ended] + (uint32_t)r.typical_late <= r.numbered_at)
		ended++;
	assert_int_equal(r.n_before, ended);
	sequence_free(&s);
}

/* A network's step of the optimizer, with kernels of its own from `first` on. */
static void learn_of(struct sequence *s, uint32_t first, uint32_t calls)
{
	launch_of(s, 0, first, calls, 0);
	launch_of(s, 1, first + 40, calls + 4, 0);
	launch_of(s, 0, OPTIMIZER, 6, LEVEL_OPTIMIZER);
}

/* An agent asks its network what to do, and learns from what it then sees. */
static void act(struct sequence *s)
{
	copy(s, COPY_H2D, LEVEL_H2D);
	launch_of(s, 0, CHECK, 6, 0);
	copy(s, COPY_D2H, LEVEL_D2H);
	copy(s, COPY_H2D, LEVEL_H2D);
}

/*
 * Counts all steps, except one at either end: a step may end before launches that come in some
 * steps only.
 */
static void check_counts_all(const struct sequence *s)
{
	struct sequence_result r;
	sequence_run(s, 1, false, &r);
	assert_true(r.locked);
	assert_in_range(r.looks, s->n_ends - 1, s->n_ends + 1);
}

/* TD3: the actor learns with every third step of the critics. */
static void test_actor_every_third_step(void **state)
{
	enum { CRITICS = 1000, ACTOR = 1200 };
	struct sequence s = { 0 };
	(void)state;
	for (int i = 0; i < 100; i++) {
		act(&s);
		learn_of(&s, CRITICS, 12);
		if (i % 3 == 0) {
			learn_of(&s, ACTOR, 20);
			launch_of(&s, 0, ACTOR + 100, 30, 0);
		}
		sequence_end_step(&s);
	}
	check_counts_all(&s);
	sequence_free(&s);
}

/*
 * SAC: two critics of the same kernels learn one after the other, and every other step the actor,
 * too.
 */
static void test_two_critics_and_an_actor(void **state)
{
	enum { CRITICS = 1000, ACTOR = 1200 };
	struct sequence s = { 0 };
	(void)state;
	for (int i = 0; i < 100; i++) {
		act(&s);
		learn_of(&s, CRITICS, 12);
		learn_of(&s, CRITICS, 12);
		if (i % 2)
			learn_of(&s, ACTOR, 30);
		sequence_end_step(&s);
	}
	check_counts_all(&s);
	sequence_free(&s);
}

/* A batch from pageable memory: each copy is waited for. */
static void feed_waiting(struct sequence *s)
{
	copy(s, COPY_H2D, LEVEL_H2D);
	copy(s, COPY_H2D, LEVEL_H2D | LEVEL_SYNCED);
}

/*
 * InfoGAN: in the generator's part and in the last one the same two networks run on new input;
 * between them the critic learns on its own. Both parts copy input and wait, and are no steps of an
 * agent. The first iterations draw samples, too.
 */
static void test_parts_of_an_iteration_with_input(void **state)
{
	enum { GENERATOR = 1000, CRITIC = 1100, LOSSES = 1200, TWO = 1300, LEARN = 1400 };
	struct sequence s = { 0 };
	(void)state;
	for (int i = 0; i < 60; i++) {
		for (uint32_t part = 0; part < 3; part++) {
			if (part != 1) {
				feed_waiting(&s);
				launch_of(&s, 0, GENERATOR, 24, 0);
			}
			launch_of(&s, 0, CRITIC, 16, 0);
			launch_of(&s, 0, LOSSES + 10 * part, 4, 0);
			if (part == 1)
				launch_of(&s, 0, TWO, 20, 0);
			launch_of(&s, 1, CRITIC + 40, 30, 0);
			launch_of(&s, 1, part == 1 ? TWO + 40 : GENERATOR + 40, 40, 0);
			launch_of(&s, 0, LEARN, 8 + 4 * part, LEVEL_OPTIMIZER);
		}
		for (int k = 0; k < 3; k++)
			copy(&s, COPY_D2H, LEVEL_D2H);
		for (int k = 0; i < 1 && k < 3; k++)
			launch_of(&s, 0, GENERATOR, 24, 0);
		sequence_end_step(&s);
	}
	check_counts_all(&s);
	sequence_free(&s);
}

/*
 * A sample's gradients, one backward pass each. Then the host asks whether the sample is accepted.
 */
static void test_leapfrogs_of_a_sample(void **state)
{
	enum { POTENTIAL = 1000, HALF = 1100, TAKEN = 1200, LEAPFROGS = 4 };
	struct sequence s = { 0 };
	(void)state;
	launch_of(&s, 0, HALF, 6, 0); /* and before the first backward pass, too */
	for (int i = 0; i < 150; i++) {
		launch_of(&s, 0, HALF, 2, 0);
		launch_of(&s, 0, POTENTIAL, 14, 0);
		for (int k = 0; k <= LEAPFROGS; k++) {
			if (k)
				launch_of(&s, 0, HALF, 4, 0);
			launch_of(&s, 0, POTENTIAL, 14, 0);
			launch_of(&s, 1, POTENTIAL + 40, 16, 0);
			if (k)
				launch_of(&s, 0, HALF + 4, 2, 0);
		}
		launch_of(&s, 0, TAKEN, 1, 0);
		copy(&s, COPY_D2H, LEVEL_D2H);
		sequence_end_step(&s);
	}
	check_counts_all(&s);
	sequence_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_optimizer_skipped_at_first),
		cmocka_unit_test(test_evaluated_before_the_first_step),
		cmocka_unit_test(test_evaluated_after_the_first_steps),
		cmocka_unit_test(test_every_other_iteration_has_the_optimizer),
		cmocka_unit_test(test_graphs_after_long_steps),
		cmocka_unit_test(test_optimizer_after_graphs),
		cmocka_unit_test(test_one_launch_and_a_wait),
		cmocka_unit_test(test_launches_between_come_and_go),
		cmocka_unit_test(test_read_once_so_far),
		cmocka_unit_test(test_optimizer_after_a_varying_number_of_moves),
		cmocka_unit_test(test_requests_that_differ),
		cmocka_unit_test(test_work_of_another_kind),
		cmocka_unit_test(test_chance_is_no_loop),
		cmocka_unit_test(test_first_step_compiles),
		cmocka_unit_test(test_one_of_several_heads),
		cmocka_unit_test(test_actor_every_third_step),
		cmocka_unit_test(test_two_critics_and_an_actor),
		cmocka_unit_test(test_parts_of_an_iteration_with_input),
		cmocka_unit_test(test_leapfrogs_of_a_sample),
		cmocka_unit_test(test_bare_loop_with_a_long_first_iteration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
