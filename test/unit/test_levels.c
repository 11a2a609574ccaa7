/*
 * Step learning on made launch sequences: loops of every shape that real programs have, noise and
 * holes, and streams in which there is no step to find. Recorded programs are in
 * test_levels_recorded.c.
 */
#include "test/unit/level_checks.h"

#include "core/runtime/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAIN_THREAD 0u
#define BACKWARD    1u
#define LOADER	    2u

/* A small generator of its own, so that every machine tests the same sequences. */
static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % n);
}

/* Kernel number `k`, of a size that is always the same. */
static uint64_t kernel(uint32_t k)
{
	return token_launch(0x400000 + 16ull * k, (uint32_t[3]){ 1 + k % 7, 1, 1 },
			    (uint32_t[3]){ 128, 1, 1 });
}

static void launch(struct sequence *s, uint32_t thread, uint32_t k, uint32_t hints)
{
	sequence_add(s, thread, kernel(k), hints | LEVEL_NAMED);
}

static void launch_range(struct sequence *s, uint32_t thread, uint32_t first, uint32_t n,
			 uint32_t hints)
{
	for (uint32_t k = first; k < first + n; k++)
		launch(s, thread, k, hints);
}

static void copy(struct sequence *s, uint32_t thread, uint32_t kind, uint32_t hint)
{
	sequence_add(s, thread, token_copy(kind), hint | LEVEL_COPY);
}

/* The parts of a training step. */
static void forward(struct sequence *s)
{
	launch_range(s, MAIN_THREAD, 100, 12, 0);
}

static void backward(struct sequence *s)
{
	launch_range(s, BACKWARD, 200, 18, 0);
}

static void optimizer(struct sequence *s)
{
	launch_range(s, MAIN_THREAD, 300, 6, LEVEL_OPTIMIZER);
}

static void train_step(struct sequence *s)
{
	forward(s);
	backward(s);
	optimizer(s);
	sequence_end_step(s);
}

static void check_abstains(const struct sequence *s, bool conclude)
{
	struct sequence_result r;
	sequence_run(s, 1, conclude, &r);
	if (r.locked)
		fail_msg("found %u boundaries where there is no step, after %u events", r.looks,
			 r.locked_at);
}

/* Nothing, or an answer that may still be taken back. */
static void check_is_not_sure(const struct sequence *s)
{
	struct sequence_result r;
	sequence_run(s, 1, false, &r);
	if (r.locked && !r.first.is_provisional)
		fail_msg("sure after %u events", r.locked_at);
}

static void test_plain(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 40; i++)
		train_step(&s);
	check_steps(&s, 1, 1, 8);
	sequence_free(&s);
}

/*
 * Momentum: the first step's optimizer makes its buffers, so three launches at its end come in no
 * other step.
 */
static void test_first_step_without_the_anchor(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	forward(&s);
	backward(&s);
	launch_range(&s, MAIN_THREAD, 400, 6, 0);
	for (int i = 1; i < 40; i++)
		train_step(&s);
	struct sequence_result r;
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked);
	assert_int_equal(r.choice.n_missed, 1);
	assert_int_equal(r.choice.count, 40);
	sequence_free(&s);
	for (int i = 0; i < 40; i++)
		train_step(&s);
	sequence_run(&s, 1, false, &r);
	assert_int_equal(r.choice.n_missed, 0);
	sequence_free(&s);
}

/*
 * One batch of evaluation, and set-up after it, come before the first step. So a step's first
 * launches have come once more often than its last ones. They also come in each later evaluation.
 */
static void test_batch_before_the_first_step(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	launch_range(&s, MAIN_THREAD, 500, 9, 0);
	forward(&s);
	launch_range(&s, MAIN_THREAD, 520, 19, 0);
	for (int i = 1; i <= 40; i++) {
		train_step(&s);
		for (int k = 0; i % 10 == 0 && k < 10; k++) {
			forward(&s);
			launch_range(&s, MAIN_THREAD, 540, 3, 0);
		}
	}
	struct sequence_result r;
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked);
	assert_int_equal(r.choice.count, 40);
	check_steps(&s, 1, 1, 8);
	sequence_free(&s);
}

/*
 * DDP equalizes the ranks' models with launches of a bucket, which also come once in each step, and
 * stand in for the anchor.
 */
static void launch_bucket(struct sequence *s, uint32_t thread)
{
	copy(s, thread, COPY_D2H, LEVEL_D2H);
	for (int k = 0; k < 4; k++)
		copy(s, thread, COPY_D2D, 0);
}

static void test_backup_before_the_first_step(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	launch_range(&s, MAIN_THREAD, 500, 9, 0);
	launch_bucket(&s, MAIN_THREAD);
	for (int i = 0; i < 40; i++) {
		copy(&s, MAIN_THREAD, COPY_H2D, LEVEL_H2D);
		forward(&s);
		backward(&s);
		launch_bucket(&s, BACKWARD);
		launch_range(&s, MAIN_THREAD, 300, 10, LEVEL_OPTIMIZER);
		sequence_end_step(&s);
	}
	struct sequence_result r;
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked);
	assert_int_equal(r.choice.backup, token_trigram(token_copy(COPY_D2H), token_copy(COPY_D2D),
							token_copy(COPY_D2D)));
	assert_int_equal(r.choice.n_early_backups, 1);
	assert_int_equal(r.choice.count, 40);
	sequence_free(&s);
}

/*
 * Two optimizers with the same launches: an iteration's last three come twice in it, so its anchor
 * ends in the next one.
 */
static void test_end_before_the_anchor(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 40; i++) {
		forward(&s);
		backward(&s);
		optimizer(&s);
		launch_range(&s, MAIN_THREAD, 130, 9, 0);
		launch_range(&s, BACKWARD, 230, 12, 0);
		optimizer(&s);
		sequence_end_step(&s);
	}
	struct sequence_result r;
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked);
	assert_int_equal(r.choice.anchor, token_trigram(kernel(304), kernel(305), kernel(100)));
	assert_int_equal(r.choice.end, token_pair_hash(kernel(304), kernel(305)));
	sequence_free(&s);
}

static void test_accumulation(void **state)
{
	(void)state;
	static const int micro_batches[] = { 2, 8, 32 };
	for (size_t m = 0; m < sizeof(micro_batches) / sizeof(micro_batches[0]); m++) {
		struct sequence s = { 0 };
		for (int i = 0; i < 20; i++) {
			for (int k = 1; k < micro_batches[m]; k++) {
				copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
				forward(&s);
				backward(&s);
			}
			train_step(&s);
		}
		check_steps(&s, 1, 1, 9);
		sequence_free(&s);
	}
}

static void test_evaluation(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 1; i <= 60; i++) {
		train_step(&s);
		for (int k = 0; i % 4 == 0 && k < 9; k++) {
			launch_range(&s, MAIN_THREAD, 300, 3, LEVEL_OPTIMIZER);
			launch_range(&s, MAIN_THREAD, 400, 3, LEVEL_OPTIMIZER);
			copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
		}
	}
	check_steps(&s, 1, 1, 12);
	sequence_free(&s);
}

static void test_variable_inner_loop(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	random_state = 1;
	for (int i = 0; i < 60; i++) {
		launch(&s, MAIN_THREAD, 50, 0);
		for (uint32_t k = 1 + random_below(6); k > 0; k--)
			launch_range(&s, MAIN_THREAD, 60, 7, 0);
		train_step(&s);
	}
	check_steps(&s, 1, 1, 10);
	sequence_free(&s);
}

/* Set-up of another kind, as long as 40 steps: parameters drawn and uploaded, one by one. */
static void test_warm_up_prefix(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	random_state = 2;
	for (int i = 0; i < 700; i++) {
		launch(&s, MAIN_THREAD, 1000 + random_below(20), 0);
		copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
	}
	sequence_end_step(&s);
	for (int i = 0; i < 60; i++)
		train_step(&s);
	check_steps(&s, 1, 1, 30);
	sequence_free(&s);
}

static void make_noisy(struct sequence *s, const struct sequence *clean, uint32_t insert_permille,
		       uint32_t drop_permille)
{
	uint32_t k = 0;
	random_state = 3;
	for (uint32_t i = 0; i < clean->n; i++) {
		for (; k < clean->n_ends && clean->ends[k] == i; k++)
			sequence_end_step(s);
		if (random_below(1000) < insert_permille)
			launch(s, random_below(2), 5000 + random_below(100), 0);
		const struct sequence_event *e = &clean->events[i];
		if (random_below(1000) >= drop_permille)
			sequence_add(s, e->thread, e->event.token, e->event.hints);
	}
	sequence_end_step(s);
}

static void test_noise(void **state)
{
	(void)state;
	struct sequence clean = { 0 }, inserted = { 0 }, dropped = { 0 };
	for (int i = 0; i < 150; i++)
		train_step(&clean);
	make_noisy(&inserted, &clean, 10, 0);
	check_steps(&inserted, 0.93, 0.93, 15);
	/*
	 * An anchor of three launches loses 6 % of its iterations when 2 % of the launches are
	 * lost.
	 */
	make_noisy(&dropped, &clean, 0, 20);
	check_steps(&dropped, 0.85, 0.85, 30);
	sequence_free(&clean);
	sequence_free(&inserted);
	sequence_free(&dropped);
}

/* A loader thread copies at its own pace, anywhere in the step. */
static void test_interleaved_threads(void **state)
{
	(void)state;
	struct sequence clean = { 0 }, s = { 0 };
	random_state = 4;
	for (int i = 0; i < 60; i++)
		train_step(&clean);
	for (uint32_t i = 0, k = 0; i < clean.n; i++) {
		if (!random_below(18))
			copy(&s, LOADER, 1, LEVEL_H2D);
		sequence_add(&s, clean.events[i].thread, clean.events[i].event.token,
			     clean.events[i].event.hints);
		if (clean.ends[k] == i + 1) {
			sequence_end_step(&s);
			k++;
		}
	}
	check_steps(&s, 1, 1, 10);
	sequence_free(&clean);
	sequence_free(&s);
}

/* The collector reads one thread's chunk, then another's: the order of feeding is not the order of
 * time. */
static void test_fed_out_of_order(void **state)
{
	(void)state;
	struct sequence s = { 0 }, by_thread = { 0 };
	struct sequence_result in_order, out_of_order;
	for (int i = 0; i < 60; i++)
		train_step(&s);
	for (uint32_t at = 0; at < s.n; at += 500)
		for (uint32_t thread = 0; thread < 2; thread++)
			for (uint32_t i = at; i < at + 500 && i < s.n; i++)
				if (s.events[i].thread == thread) {
					sequence_add(&by_thread, thread, s.events[i].event.token,
						     s.events[i].event.hints);
					by_thread.events[by_thread.n - 1].event = s.events[i].event;
				}
	sequence_run(&s, 500, false, &in_order);
	sequence_run(&by_thread, 500, false, &out_of_order);
	assert_true(in_order.locked && out_of_order.locked);
	assert_true(in_order.choice.anchor == out_of_order.choice.anchor);
	assert_int_equal(in_order.choice.count, out_of_order.choice.count);
	assert_int_equal(in_order.choice.calls_per_step, 36);
	sequence_free(&s);
	sequence_free(&by_thread);
}

static void test_batches_do_not_matter(void **state)
{
	(void)state;
	static const uint32_t batches[] = { 1, 7, 1000, 1u << 30 };
	struct sequence s = { 0 };
	for (int i = 0; i < 60; i++)
		train_step(&s);
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		struct sequence_result r;
		sequence_run(&s, batches[i], false, &r);
		assert_true(r.locked);
		assert_int_equal(r.choice.count, 60);
		assert_int_equal(r.looks, 60);
		assert_int_equal(r.choice.thread, MAIN_THREAD);
		assert_int_equal(r.choice.boundary, LEVEL_BY_OPTIMIZER);
	}
	sequence_free(&s);
}

/* Sequences of other lengths: most launches' grids are new in every step, the kernels are not. */
static void test_other_shapes(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (uint32_t i = 0; i < 40; i++) {
		copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
		for (uint32_t k = 0; k < 20; k++) {
			sequence_add(&s, k < 10 ? MAIN_THREAD : BACKWARD,
				     token_launch_of(100 + k, 1 + i, 1, 1, 128, 1, 1), 0);
			s.events[s.n - 1].event.kernel = 100 + k;
		}
		launch_range(&s, MAIN_THREAD, 300, 6, 0);
		sequence_end_step(&s);
	}
	check_steps(&s, 1, 1, 9);
	sequence_free(&s);
}

/*
 * Each request runs on one of three threads: what one of them launches is no other thread's
 * backward pass.
 */
static void test_pool(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	random_state = 8;
	for (int i = 0; i < 40; i++) {
		uint32_t worker = 5 + random_below(3);
		copy(&s, worker, 1, LEVEL_H2D);
		launch_range(&s, worker, 100, 12, 0);
		copy(&s, worker, 2, LEVEL_D2H);
		sequence_end_step(&s);
		s.now_ns += 300000;
	}
	check_steps(&s, 1, 1, 9);
	sequence_free(&s);
}

/*
 * One thread, no names: an evaluation repeats the forward pass, and reads. While it runs, the
 * second half of everything holds nothing else, but the first half is training.
 */
static void test_evaluation_on_one_thread(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 1; i <= 60; i++) {
		copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
		launch_range(&s, MAIN_THREAD, 100, 30, 0);
		launch_range(&s, MAIN_THREAD, 200, 30, 0);
		sequence_end_step(&s);
		for (int k = 0; i % 10 == 0 && k < 20; k++) {
			copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
			launch_range(&s, MAIN_THREAD, 100, 30, 0);
			copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
		}
	}
	struct sequence_result r;
	sequence_run(&s, 1, false, &r);
	assert_true(!r.locked || r.one_per_step == 1);
	sequence_free(&s);
}

/* A loop that only its log's reading, every third or tenth step, ever stops. */
static void test_log(void **state)
{
	(void)state;
	static const int everies[] = { 3, 10 };
	for (size_t e = 0; e < sizeof(everies) / sizeof(everies[0]); e++) {
		struct sequence s = { 0 };
		for (int i = 0; i < 200; i++) {
			s.now_ns += 850000;
			launch_range(&s, MAIN_THREAD, 100, 13, 0);
			if (i % everies[e] == 0)
				copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
			sequence_end_step(&s);
		}
		check_steps(&s, 1, 0, 60);
		sequence_free(&s);
	}
}

/*
 * No optimizer and no copy at the end: the host's pause shows where an iteration ends, though not
 * where waiting was.
 */
static void test_gap(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 60; i++) {
		copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
		launch_range(&s, MAIN_THREAD, 100, 5, 0);
		s.now_ns += 500005000;
		launch_range(&s, MAIN_THREAD, 110, 1, LEVEL_SYNCED);
		s.events[s.n - 1].event.blocked_ns = 500000000;
		launch_range(&s, MAIN_THREAD, 111, 6, 0);
		sequence_end_step(&s);
		s.now_ns += 300000;
	}
	check_steps(&s, 1, 1, 11);
	sequence_free(&s);
}

/*
 * Ten calls that end with a value read back may be a layer: they are believed once forty have come.
 */
static void test_read_back(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 80; i++) {
		launch_range(&s, MAIN_THREAD, 100, 9, 0);
		copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
		sequence_end_step(&s);
	}
	check_steps(&s, 1, 1, 60);
	sequence_free(&s);
}

/*
 * Each layer waits for a value, twelve layers a step: the first forward pass has enough iterations
 * for a step, but none is a step.
 */
static void test_read_back_per_layer(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 60; i++) {
		for (int layer = 0; layer < 12; layer++) {
			launch_range(&s, MAIN_THREAD, 100, 3, 0);
			copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
		}
		launch_range(&s, MAIN_THREAD, 200, 12, LEVEL_SYNCED);
		sequence_end_step(&s);
		s.now_ns += 300000;
	}
	check_steps(&s, 1, 1, 20);
	sequence_free(&s);
}

/* A step of many like launches between two others is no loop of one launch. */
static void test_many_alike(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 60; i++) {
		launch_range(&s, MAIN_THREAD, 100, 1, 0);
		for (int k = 0; k < 200; k++)
			launch_range(&s, MAIN_THREAD, 200, 1, 0);
		launch_range(&s, MAIN_THREAD, 300, 2, 0);
		sequence_end_step(&s);
		s.now_ns += 300000;
	}
	check_steps(&s, 1, 1, 50); /* a bare loop is believed after 40 iterations */
	sequence_free(&s);
}

/*
 * Waits at the end of a warm-up and where a clock is started do not repeat, so they end no
 * enclosing loop.
 */
static void test_waits_of_the_set_up(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 120; i++) {
		for (int k = 0; k < 30; k++)
			launch_range(&s, MAIN_THREAD, 100, 2, 0);
		launch_range(&s, MAIN_THREAD, 200, 2, i == 1 || i == 11 ? LEVEL_SYNCED : 0);
		sequence_end_step(&s);
		s.now_ns += 100000;
	}
	check_steps(&s, 1, 1, 60);
	sequence_free(&s);
}

/*
 * Waits that do repeat, however far apart: the loop whose iterations they end has not been seen
 * often enough yet.
 */
static void test_waits_of_an_enclosing_loop(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 240; i++)
		launch_range(&s, MAIN_THREAD, 100, 30, i % 15 ? 0 : LEVEL_SYNCED);
	check_abstains(&s, false);
	sequence_free(&s);
}

/*
 * A loss that is read back after the optimizer, with or without a launch between, belongs to that
 * step. A copy that is not waited for, and one in the next step's first launches, do not.
 */
static void test_read_back_after_optimizer(void **state)
{
	(void)state;
	for (uint32_t between = 0; between < 3; between++) {
		struct sequence s = { 0 };
		for (int i = 0; i < 30; i++) {
			copy(&s, MAIN_THREAD, 1, LEVEL_H2D | (i ? LEVEL_SYNCED : 0));
			launch_range(&s, MAIN_THREAD, 100, 9, 0);
			launch_range(&s, MAIN_THREAD, 200, 4, LEVEL_OPTIMIZER);
			launch_range(&s, MAIN_THREAD, 300, between, 0);
			copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
			sequence_end_step(&s);
		}
		check_steps(&s, 1, 1, 9);
		sequence_free(&s);
	}
	struct sequence s = { 0 };
	for (int i = 0; i < 30; i++) {
		launch_range(&s, MAIN_THREAD, 100, 9, 0);
		launch_range(&s, MAIN_THREAD, 200, 4, LEVEL_OPTIMIZER);
		sequence_end_step(&s);
		copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
	}
	check_steps(&s, 1, 1, 9);
	sequence_free(&s);
	for (int i = 0; i < 30; i++) {
		copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
		copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
		launch_range(&s, MAIN_THREAD, 100, 9, LEVEL_SYNCED);
		launch_range(&s, MAIN_THREAD, 200, 4, LEVEL_OPTIMIZER);
		sequence_end_step(&s);
	}
	check_steps(&s, 1, 1, 9);
	sequence_free(&s);
}

/* A loop of one graph launch, and one of a few bare launches, are steps too. */
static void test_short_iterations(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 100; i++) {
		sequence_add(&s, MAIN_THREAD, token_graph(0xabc0), LEVEL_GRAPH);
		sequence_end_step(&s);
	}
	check_steps(&s, 1, 1, 70);
	sequence_free(&s);
	for (int i = 0; i < 300; i++) {
		launch_range(&s, MAIN_THREAD, 100, 3, 0);
		s.now_ns += 20000;
		sequence_end_step(&s);
	}
	check_steps(&s, 1, 1, 200);
	sequence_free(&s);
}

/* Layers of the first forward pass, and parameters in the first optimizer phase, repeat often and
 * are no steps. */
static void test_first_step_is_no_loop(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 14; i++) {
		for (int layer = 0; layer < 32; layer++)
			launch_range(&s, MAIN_THREAD, 500, 11, 0);
		for (int layer = 0; layer < 32; layer++)
			launch_range(&s, BACKWARD, 600, 22, 0);
		for (int parameter = 0; parameter < 300; parameter++) {
			launch_range(&s, MAIN_THREAD, 700, 2, 0);
			launch_range(&s, MAIN_THREAD, 702, 2, LEVEL_OPTIMIZER);
		}
		sequence_end_step(&s);
		if (i == 0)
			check_is_not_sure(&s);
	}
	/* The last parameter's launches are those of every other: the next forward pass ends it. */
	check_steps(&s, 1, 0, 10);
	sequence_free(&s);
}

static void test_nothing_repeats(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (uint32_t i = 0; i < 5000; i++)
		launch(&s, MAIN_THREAD, i, 0);
	check_abstains(&s, true);
	sequence_free(&s);
	random_state = 5;
	for (uint32_t i = 0; i < 20000; i++)
		launch(&s, random_below(2), random_below(40), 0);
	check_abstains(&s, true);
	sequence_free(&s);
}

static void test_too_little(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	check_abstains(&s, true);
	for (int i = 0; i < 3; i++)
		train_step(&s);
	check_abstains(&s, true);
	sequence_free(&s);
	for (int i = 0; i < 1000; i++)
		copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
	check_abstains(&s, true);
	sequence_free(&s);
}

/* A short run, read when it has ended: what was not sure enough before is believed then. */
static void test_conclude(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct sequence_result r;
	for (int i = 0; i < 40; i++) {
		forward(&s);
		sequence_end_step(&s);
	}
	check_is_not_sure(&s);
	sequence_run(&s, 1, true, &r);
	assert_true(r.locked);
	assert_true(r.one_per_step == 1);
	assert_in_range(r.choice.count, 39, 40);
	sequence_free(&s);
}

/*
 * Launches that keep step learning busy: a few kernels in any order, now and then with an
 * optimizer's.
 */
static void test_few_kernels_in_any_order(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	random_state = 6;
	while (s.n < 100000)
		launch(&s, random_below(2), random_below(12),
		       random_below(50) ? 0 : LEVEL_OPTIMIZER);
	check_abstains(&s, true);
	sequence_free(&s);
}

/* More than it keeps: the older half goes, and steps that begin after that are found. */
static void test_bounded_memory(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct sequence_result r;
	random_state = 7;
	while (s.n < 1300000)
		launch(&s, MAIN_THREAD, random_below(1000), 0);
	sequence_end_step(&s);
	for (int i = 0; i < 40000; i++)
		train_step(&s);
	sequence_run(&s, 10000, false, &r);
	print_message("%u launches, more than are kept: %.0f ms\n", s.n, r.seconds * 1e3);
	assert_true(r.locked);
	assert_true(r.n_steps > 100);
	assert_true(r.one_per_step == 1 && r.exact == 1);
	sequence_free(&s);
}

static uint32_t events_until_locked(struct levels *l, const struct sequence *s)
{
	struct level_choice choice;
	for (uint32_t i = 0; i < s->n; i++) {
		assert_int_equal(levels_feed(l, s->events[i].thread, &s->events[i].event), 0);
		if (levels_vote(l, &choice))
			return i + 1;
	}
	fail_msg("no lock after %u events", s->n);
	return 0;
}

/* After an anchor that failed, twice the iterations are wanted. */
static void test_relearn(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	for (int i = 0; i < 60; i++)
		train_step(&s);
	struct levels *l = levels_new();
	assert_non_null(l);
	uint32_t first = events_until_locked(l, &s);
	levels_relearn(l);
	uint32_t second = events_until_locked(l, &s);
	assert_in_range(second, first * 3 / 2, first * 3);
	levels_free(l);
	levels_free(NULL);
	sequence_free(&s);
}

/* Asked for a step with an optimizer, no other loop will do. */
static void test_wanted_optimizer(void **state)
{
	(void)state;
	struct sequence s = { 0 };
	struct level_choice choice;
	for (int i = 0; i < 60; i++) {
		copy(&s, MAIN_THREAD, 1, LEVEL_H2D);
		forward(&s);
		copy(&s, MAIN_THREAD, 2, LEVEL_D2H);
	}
	for (int wants = 0; wants < 2; wants++) {
		struct levels *l = levels_new();
		assert_non_null(l);
		if (wants)
			levels_want_optimizer(l, true);
		for (uint32_t i = 0; i < s.n; i++)
			levels_feed(l, s.events[i].thread, &s.events[i].event);
		assert_int_equal(levels_conclude(l, &choice), !wants);
		levels_free(l);
	}
	sequence_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_first_step_without_the_anchor),
		cmocka_unit_test(test_batch_before_the_first_step),
		cmocka_unit_test(test_backup_before_the_first_step),
		cmocka_unit_test(test_end_before_the_anchor),
		cmocka_unit_test(test_accumulation),
		cmocka_unit_test(test_evaluation),
		cmocka_unit_test(test_variable_inner_loop),
		cmocka_unit_test(test_warm_up_prefix),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_interleaved_threads),
		cmocka_unit_test(test_fed_out_of_order),
		cmocka_unit_test(test_batches_do_not_matter),
		cmocka_unit_test(test_other_shapes),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_evaluation_on_one_thread),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_read_back_per_layer),
		cmocka_unit_test(test_many_alike),
		cmocka_unit_test(test_waits_of_the_set_up),
		cmocka_unit_test(test_waits_of_an_enclosing_loop),
		cmocka_unit_test(test_read_back_after_optimizer),
		cmocka_unit_test(test_short_iterations),
		cmocka_unit_test(test_first_step_is_no_loop),
		cmocka_unit_test(test_nothing_repeats),
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_conclude),
		cmocka_unit_test(test_few_kernels_in_any_order),
		cmocka_unit_test(test_bounded_memory),
		cmocka_unit_test(test_relearn),
		cmocka_unit_test(test_wanted_optimizer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
