/* Sums over trials: of a kind, of all, and of answers by confidence. */
#ifndef TEST_STEPS_TALLY_H
#define TEST_STEPS_TALLY_H

#include "test/steps/noise.h"
#include "test/steps/trial.h"

enum { TALLY_TRIALS = 8192 };

struct tally {
	uint32_t n, n_locked, n_answered;
	uint32_t n_exact;  /* when locked or at the end: one boundary in every step */
	uint32_t n_placed; /* of those: a trigram ends every step, so that the place can be right */
	uint32_t n_in_place; /* of those: the place is right */
	uint32_t n_false;
	uint32_t n_numbers; /* counted right from the first step on */
	uint32_t n_moved;
	uint32_t n_corrected;	/* the first answer was replaced by another */
	double steps_corrected; /* steps until the correction, summed */
	uint32_t n_steps;	/* in `steps` */
	/* Steps until locked, in trials with a step to find; all steps if it never locked. */
	double steps[TALLY_TRIALS];
};

enum { SURENESS_BANDS = 4 };

struct calibration {
	uint32_t n[SURENESS_BANDS], n_right[SURENESS_BANDS];
};

/* Returns whether the answer is no step of this program. `has_step`: there is one to find. */
bool tally_is_false(const struct trial *t, bool has_step, enum noise noise);
/* `has_place`: something says where it ends. */
void tally_add(struct tally *t, const struct trial *trial, bool has_step, bool has_place,
	       enum noise noise);
void tally_merge(struct tally *into, const struct tally *t);
double tally_share(uint32_t n, uint32_t of);		/* percent; of nothing: 100 */
double tally_quantile(const struct tally *t, double q); /* of steps until locked */

/* Fills in the answers of a trial, the provisional and the last; returns their number. */
struct calibration_answer {
	const struct level_choice *choice;
	bool is_right;
};
uint32_t calibration_answers(const struct trial *t, bool has_step, enum noise noise,
			     struct calibration_answer answers[2]);
void calibration_add(struct calibration *c, const struct trial *trial, bool has_step,
		     enum noise noise);
extern const double sureness_least[SURENESS_BANDS];

#endif
