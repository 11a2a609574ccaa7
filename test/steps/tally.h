/* Adds up the results of trials: those of a kind, of all kinds, and of answers by confidence. */
#ifndef TEST_STEPS_TALLY_H
#define TEST_STEPS_TALLY_H

#include "test/steps/noise.h"
#include "test/steps/trial.h"

enum { TALLY_TRIALS = 8192 };

struct tally {
	uint32_t n, n_locked, n_answered;
	uint32_t n_exact; /* trials with a right answer: one boundary in every step */
	/* right trials in which a trigram ends every step, so that the place can be right */
	uint32_t n_placed;
	uint32_t n_in_place; /* trials of n_placed whose place is right */
	uint32_t n_false;
	uint32_t n_numbers; /* right trials whose steps were counted from the first one on */
	uint32_t n_moved;
	uint32_t n_corrected;	/* trials whose first answer was replaced by another */
	double steps_corrected; /* sum of the steps until the correction */
	uint32_t n_steps;	/* number of values in `steps` */
	/*
	 * For each trial with a step to find, the number of steps until the right answer. INFINITY
	 * if there was no right answer while the program ran.
	 */
	double steps[TALLY_TRIALS];
};

enum { SURENESS_BANDS = 4 };

/* Answers by confidence: band 0 has the highest. n: answers, n_right: right ones. */
struct calibration {
	uint32_t n[SURENESS_BANDS], n_right[SURENESS_BANDS];
};

/*
 * Returns whether the answer counts something that is not a step. `has_step`: the program has
 * steps.
 */
bool tally_is_false(const struct trial *t, bool has_step, enum noise noise);
/* Adds a trial. `has_place`: the program shows where its steps end. */
void tally_add(struct tally *t, const struct trial *trial, bool has_step, bool has_place,
	       enum noise noise);
void tally_merge(struct tally *into, const struct tally *t);
/* Returns a share in percent; 100 if `of` is 0. */
double tally_share(uint32_t n, uint32_t of);
/* Returns a quantile of the steps until the answer. */
double tally_quantile(const struct tally *t, double q);

struct calibration_answer {
	const struct level_choice *choice;
	bool is_right;
};
/*
 * Fills in up to two answers of a trial, the provisional one and the final one. Returns their
 * number.
 */
uint32_t calibration_answers(const struct trial *t, bool has_step, enum noise noise,
			     struct calibration_answer answers[2]);
void calibration_add(struct calibration *c, const struct trial *trial, bool has_step,
		     enum noise noise);
extern const double sureness_least[SURENESS_BANDS];

#endif
