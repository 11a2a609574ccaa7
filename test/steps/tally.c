#include "test/steps/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double sureness_least[SURENESS_BANDS] = { 0.9, 0.7, 0.5, 0 };

static double share_wanted(enum noise noise)
{
	return noise == NOISE_NONE ? TRIAL_SHARE_CLEAN : TRIAL_SHARE_NOISY;
}

static bool is_right(const struct trial *t, bool has_step, enum noise noise)
{
	if (!has_step)
		return !t->answered;
	return t->answered &&
	       (noise == NOISE_NONE ? trial_is_exact(t) : !trial_is_false(t, share_wanted(noise)));
}

bool tally_is_false(const struct trial *t, bool has_step, enum noise noise)
{
	return has_step ? trial_is_false(t, share_wanted(noise)) : t->answered;
}

void tally_add(struct tally *t, const struct trial *trial, bool has_step, bool has_place,
	       enum noise noise)
{
	bool right = is_right(trial, has_step, noise);
	t->n++;
	t->n_locked += trial->locked;
	t->n_answered += trial->answered;
	t->n_exact += right;
	t->n_moved += trial->moved;
	t->n_corrected += trial->corrected;
	t->steps_corrected += trial->steps_corrected;
	t->n_false += tally_is_false(trial, has_step, noise);
	if (!has_step)
		return;
	t->n_numbers += right && trial_numbers_right(trial);
	has_place &= right && trial->has_place;
	t->n_placed += has_place;
	t->n_in_place += has_place && trial->in_place == 1;
	if (t->n_steps < TALLY_TRIALS)
		t->steps[t->n_steps++] = trial->locked && right ? trial->steps : INFINITY;
}

void tally_merge(struct tally *into, const struct tally *t)
{
	into->n += t->n;
	into->n_locked += t->n_locked;
	into->n_answered += t->n_answered;
	into->n_exact += t->n_exact;
	into->n_in_place += t->n_in_place;
	into->n_placed += t->n_placed;
	into->n_false += t->n_false;
	into->n_moved += t->n_moved;
	into->n_corrected += t->n_corrected;
	into->steps_corrected += t->steps_corrected;
	into->n_numbers += t->n_numbers;
	for (uint32_t i = 0; i < t->n_steps && into->n_steps < TALLY_TRIALS; i++)
		into->steps[into->n_steps++] = t->steps[i];
}

double tally_share(uint32_t n, uint32_t of)
{
	return of ? 100.0 * n / of : 100;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double tally_quantile(const struct tally *t, double q)
{
	if (!t->n_steps)
		return 0;
	double *sorted = malloc(t->n_steps * sizeof(*sorted));
	if (!sorted)
		abort();
	memcpy(sorted, t->steps, t->n_steps * sizeof(*sorted));
	qsort(sorted, t->n_steps, sizeof(*sorted), compare_double);
	uint32_t at = (uint32_t)ceil(q * t->n_steps);
	double value = sorted[at ? at - 1 : 0];
	free(sorted);
	return value;
}

uint32_t calibration_answers(const struct trial *t, bool has_step, enum noise noise,
			     struct calibration_answer answers[2])
{
	double wanted = noise == NOISE_NONE ? 1 : share_wanted(noise);
	uint32_t n = 0;
	if (t->tried)
		answers[n++] =
			(struct calibration_answer){ &t->first,
						     has_step && t->first_one_per_step >= wanted };
	if (t->answered && !t->last.is_provisional)
		answers[n++] = (struct calibration_answer){ &t->last,
							    has_step && t->one_per_step >= wanted };
	return n;
}

void calibration_add(struct calibration *c, const struct trial *trial, bool has_step,
		     enum noise noise)
{
	struct calibration_answer answers[2];
	uint32_t n = calibration_answers(trial, has_step, noise, answers);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t band = 0;
		while (answers[i].choice->confidence < sureness_least[band])
			band++;
		c->n[band]++;
		c->n_right[band] += answers[i].is_right;
	}
}
