/*
 * How certain savings are. Recorded steps differ, so other steps of the same program would give
 * other savings. The recorded steps are drawn from again and again, with replacement, and each draw
 * gives one mean of the savings (a bootstrap). The same steps are drawn for all savings, so that
 * two of them can be compared. To each draw the error of the replay is added, and `run_error`.
 */
#ifndef CORE_RESAMPLE_H
#define CORE_RESAMPLE_H

#include "core/util/vec.h"

#include <stdint.h>

/* 1,000 draws of 100 steps for 8 resources take 2 ms. */
enum { RESAMPLED = 1000 };

struct resampled {
	const double *steps;	  /* savings by step; the caller's */
	double value;		  /* estimated savings of a step, around which the draws lie */
	double run_error;	  /* by how much another run differs, as a share of `value` */
	double limit;		  /* no draw is larger, such as a step's length; 0: no limit */
	double mean, least, most; /* of `steps` */
	float means[RESAMPLED];
};

/* Fills `mean`, `least`, `most` and `means` of the `n` savings from `steps` and `value`. Two calls
 * with the same values give the same result. */
void resample(struct resampled *of, size_t n, uint32_t n_steps);

/*
 * Returns by how much the means of `n` resampled steps must be spread around their mean. Steps that
 * are drawn from themselves vary by sqrt((n - 1) / n) less than the steps of the program do, and a
 * few steps say little of how much these vary. 0 for fewer than two steps.
 */
double resample_spread(uint32_t n);

/* Returns half the width of the 95 % interval that `wanted` steps would give. `n_steps`: as in
 * resample(). */
double resampled_half_width(const struct resampled *r, uint32_t n_steps, uint32_t wanted);

/* Returns the share of draws in which `wanted` steps would show that one of the two saves more than
 * the other: their 95 % intervals are then apart. 1 if there are too few steps to draw from. */
double resampled_share_apart(const struct resampled *a, const struct resampled *b, uint32_t n_steps,
			     uint32_t wanted);

/* Returns the 95 % interval of the savings. */
void resampled_interval(const struct resampled *r, double *low, double *high);

#endif
