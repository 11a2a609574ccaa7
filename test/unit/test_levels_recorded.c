/* Step learning on recorded programs (test/steps/data/README.md says what they are). Run from the
 * top of the repository. */
#include "test/steps/recorded.h"
#include "test/steps/trial.h"
#include "test/unit/level_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define DATA "test/steps/data/"

static void load(struct sequence *s, const char *path, enum evidence evidence)
{
	struct program p;
	struct err e = { "" };
	if (program_load(&p, path, &e))
		fail_msg("%s", e.text);
	trial_sequence(s, &p, evidence);
	program_free(&p);
}

static void test_recorded(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		double exact; /* share of true ends that are boundaries */
		double within_steps;
	} cases[] = {
		{ DATA "accumulation_4.tsv.gz", 1, 8 },
		{ DATA "cnn_conv.tsv.gz", 1, 8 },
		{ DATA "eval_every_5.tsv.gz", 1, 10 },
		{ DATA "hf_gpt2_trainer_eval.tsv.gz", 1, 8 },
		{ DATA "inference_requests.tsv.gz", 1, 10 },
		{ DATA "mlp_adam.tsv.gz", 1, 8 },
		/* No trigram that ends with the last launch comes once: the next step's first
		   launch ends it. */
		{ DATA "stochastic_depth.tsv.gz", 0, 8 },
		{ DATA "token_decoding.tsv.gz", 1, 10 },
		{ DATA "variable_inner_loop.tsv.gz", 1, 8 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sequence s;
		load(&s, cases[i].file, EVIDENCE_NAMES);
		print_message("%s\n", cases[i].file);
		check_steps(&s, 1, cases[i].exact, cases[i].within_steps);
		sequence_free(&s);
	}
}

/* The same programs where no kernel has a name: later, but no less right. */
static void test_recorded_without_names(void **state)
{
	(void)state;
	static const char *const files[] = {
		DATA "accumulation_4.tsv.gz",	   DATA "cnn_conv.tsv.gz",
		DATA "eval_every_5.tsv.gz",	   DATA "hf_gpt2_trainer_eval.tsv.gz",
		DATA "inference_requests.tsv.gz",  DATA "mlp_adam.tsv.gz",
		DATA "stochastic_depth.tsv.gz",	   DATA "token_decoding.tsv.gz",
		DATA "variable_inner_loop.tsv.gz",
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct sequence s;
		load(&s, files[i], EVIDENCE_LAUNCHES);
		print_message("%s\n", files[i]);
		check_steps(&s, 1, 0, 36);
		sequence_free(&s);
	}
}

/* An iteration of a GAN steps two optimizers; one boundary for both, never at different ones. */
static void test_two_optimizers(void **state)
{
	(void)state;
	struct sequence s;
	struct sequence_result r;
	load(&s, DATA "gan_two_optimizers.tsv.gz", EVIDENCE_NAMES);
	sequence_run(&s, 1, false, &r);
	assert_true(r.locked);
	assert_true(r.one_per_step == 1);
	assert_int_equal(r.typical_late, 1);
	sequence_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_recorded_without_names),
		cmocka_unit_test(test_two_optimizers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
