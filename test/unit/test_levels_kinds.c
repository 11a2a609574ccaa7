/*
 * Step learning on made programs of every kind (test/steps/kinds.h): the suite that `make steps`
 * prints in full, here one variant of each kind and size, with floors that hold. The programs are
 * checked too: a kind in which nothing comes once per step would ask for the impossible.
 */
#include "test/steps/anchors.h"
#include "test/steps/kinds.h"
#include "test/steps/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 1 };

static bool kind_has_step(const struct kind *kind)
{
	return !(kind->flags & KIND_NO_STEP);
}

static void test_every_step_has_an_anchor(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < n_kinds; k++)
		for (uint32_t size = 0; size < KIND_SIZES; size++) {
			struct program p;
			struct sequence s;
			struct anchors a;
			kind_make(&kinds[k], &p, size, SEED);
			trial_sequence(&s, &p, EVIDENCE_LAUNCHES);
			anchors_count(&a, &s, END_STEP);
			if (kind_has_step(&kinds[k]) && !a.n)
				fail_msg("%s, size %u: nothing comes once per step", kinds[k].name,
					 size);
			sequence_free(&s);
			program_free(&p);
		}
}

static uint32_t differing(const struct program *a, const struct program *b)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < a->n && i < b->n; i++)
		n += a->events[i].token != b->events[i].token;
	return n;
}

static void test_noise_is_as_strong_as_its_name(void **state)
{
	(void)state;
	struct program p, noisy[NOISES];
	kind_make(&kinds[0], &p, 2, SEED);
	for (int noise = 0; noise < NOISES; noise++) {
		noise_make(&noisy[noise], &p, (enum noise)noise, SEED);
		assert_int_equal(noisy[noise].n_marks, p.n_marks);
	}
	assert_int_equal(differing(&p, &noisy[NOISE_NONE]), 0);
	assert_in_range(noisy[NOISE_INSERTED].n, p.n * 1005 / 1000, p.n * 1015 / 1000);
	assert_in_range(noisy[NOISE_DROPPED].n, p.n * 975 / 1000, p.n * 985 / 1000);
	assert_in_range(noisy[NOISE_THREADS].n, p.n * 108 / 100, p.n * 112 / 100);
	assert_int_equal(noisy[NOISE_SWAPPED].n, p.n);
	assert_in_range(differing(&p, &noisy[NOISE_SWAPPED]), p.n * 3 / 100, p.n * 7 / 100);
	for (int noise = 0; noise < NOISES; noise++)
		program_free(&noisy[noise]);
	program_free(&p);
}

static void try_kinds(struct tally *all, struct calibration *sure, enum evidence evidence)
{
	for (uint32_t k = 0; k < n_kinds; k++)
		for (uint32_t size = 0; size < KIND_SIZES; size++) {
			struct program p;
			struct sequence s;
			struct trial t;
			if (kinds[k].flags & KIND_BY_FRAMES && evidence < EVIDENCE_FRAMES)
				continue;
			kind_make(&kinds[k], &p, size, SEED);
			trial_sequence(&s, &p, evidence);
			trial_run(&t, &s);
			tally_add(all, &t, kind_has_step(&kinds[k]),
				  !(kinds[k].flags & KIND_NO_PLACE), NOISE_NONE);
			calibration_add(sure, &t, kind_has_step(&kinds[k]), NOISE_NONE);
			sequence_free(&s);
			program_free(&p);
		}
}

/* In percent. What step learning reaches today, not what it is to reach: `make steps` says both. */
static void test_floors(void **state)
{
	(void)state;
	static const struct {
		double exact, false_locks;
	} floors[EVIDENCES] = { { 98, 1 }, { 99, 1 }, { 99, 1 } };
	static struct tally all;
	static struct calibration sure;
	for (int evidence = 0; evidence < EVIDENCES; evidence++) {
		memset(&all, 0, sizeof(all));
		try_kinds(&all, &sure, (enum evidence)evidence);
		double exact = tally_share(all.n_exact, all.n),
		       false_locks = tally_share(all.n_false, all.n);
		print_message("%s: %.1f %% exact, %.1f %% false locks\n", evidence_names[evidence],
			      exact, false_locks);
		if (exact < floors[evidence].exact || false_locks > floors[evidence].false_locks)
			fail_msg("%s: %.1f %% exact, at least %.0f %% wanted; %.1f %% false locks, "
				 "at most %.0f %%",
				 evidence_names[evidence], exact, floors[evidence].exact,
				 false_locks, floors[evidence].false_locks);
	}
	/* Of those that it calls 0.9 sure nine in ten are right. */
	assert_true(sure.n_right[0] * 10 >= sure.n[0] * 9);
	/* And those that it is less sure of are less often right. */
	uint32_t n = 0, n_right = 0;
	for (int band = 1; band < SURENESS_BANDS; band++) {
		n += sure.n[band];
		n_right += sure.n_right[band];
	}
	assert_true(n >= 50);
	assert_true(tally_share(n_right, n) < tally_share(sure.n_right[0], sure.n[0]));
}

/*
 * Loops without frames, with few kernels, nothing copied in some, or other sizes in each iteration:
 * they are detected from what else they do (iterations_are_waited(), has_same_exchanges(),
 * is_of_request_loop()).
 */
static void test_loops_with_little_evidence(void **state)
{
	static const char *const names[] = { "converging", "double_buffered", "growing_requests" };
	(void)state;
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (uint32_t run = 0; run < 3 * KIND_SIZES; run++) {
			const struct kind *kind = kinds;
			struct program p;
			struct sequence s;
			struct trial t;
			struct tally tally = { 0 };
			while (strcmp(kind->name, names[i]) != 0)
				kind++;
			kind_make(kind, &p, run % KIND_SIZES, SEED + run / KIND_SIZES);
			trial_sequence(&s, &p, EVIDENCE_LAUNCHES);
			trial_run(&t, &s);
			tally_add(&tally, &t, true, true, NOISE_NONE);
			if (tally.n_exact != 1)
				fail_msg("%s, size %u, seed %u", names[i], run % KIND_SIZES,
					 SEED + run / KIND_SIZES);
			sequence_free(&s);
			program_free(&p);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_step_has_an_anchor),
		cmocka_unit_test(test_noise_is_as_strong_as_its_name),
		cmocka_unit_test(test_floors),
		cmocka_unit_test(test_loops_with_little_evidence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
