/*
 * Statistics of many numbers in bounded memory: exact count, mean, deviation and extremes;
 * percentiles from a uniform sample.
 */
#ifndef CORE_SAMPLE_H
#define CORE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_KEPT = 4096 }; /* the p99 of 4,096 is accurate to about 0.3 percentiles */

struct sample {
	uint64_t n;
	double mean, m2, min, max;
	uint64_t random;
	float kept[SAMPLE_KEPT];
};

void sample_add(struct sample *s, double value);
double sample_deviation(const struct sample *s);

/* `fraction` is 0 to 1. Returns 0 if there are no values. */
double sample_percentile(const struct sample *s, double fraction);

/* The same for sorted numbers, at least one. */
void sample_sort(float *values, size_t n);
double sample_percentile_of(const float *sorted, size_t n, double fraction);

/* Advances the random generator that chooses the sample; a state of 0 is its seed. */
uint64_t sample_next_random(uint64_t *state);

#endif
