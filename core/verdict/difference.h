/*
 * Whether the steps of one run take longer than those of another. The steps of both are drawn again
 * and again, with replacement (a bootstrap). Neighbouring steps resemble each other, so blocks of
 * neighbours are drawn: the cube root of the number of steps long.
 *
 * The interval covers the variation of the steps within these two runs. It can't cover what
 * differs from run to run, such as another machine's clock.
 */
#ifndef CORE_DIFFERENCE_H
#define CORE_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>

/* Times are in the unit of the steps. */
struct difference {
	double a, b;	  /* median or mean of both runs */
	double low, high; /* 95 % interval of b - a; NAN: a run has fewer than two steps */
};

struct differences {
	struct difference median, mean;
};

/* Compares the lengths of the steps of two runs, in the order in which they ran. Each run has at
 * least one step. Two calls with the same values give the same result. */
struct differences difference_find(const float *a, size_t n_a, const float *b, size_t n_b);

/* Returns whether the interval is known and does not contain 0. */
bool difference_is_clear(const struct difference *d);

#endif
