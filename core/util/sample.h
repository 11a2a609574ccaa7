/*
 * Statistics of many values in bounded memory. Count, mean, deviation, minimum and maximum are
 * exact. Percentiles are estimated from a random sample of the values.
 */
#ifndef CORE_SAMPLE_H
#define CORE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* Number of values in the sample. Their 99th percentile is accurate to about 0.3 percentiles. */
enum { SAMPLE_KEPT = 4096 };

/* All zeros: no values. */
struct sample {
	uint64_t n;
	double mean, m2, min, max; /* `m2`: sum of the squared differences from the mean */
	uint64_t random;	   /* state of the random generator */
	float kept[SAMPLE_KEPT];   /* the sample; all values, if there are at most SAMPLE_KEPT */
};

/* Values have the unit of the sample. */
struct sample_summary {
	int64_t n;
	double mean, std, cv, min, p50, p95, p99, max; /* std: standard deviation; cv: std / mean */
};

void sample_add(struct sample *s, double value);

/* All zeros if there are no values. */
struct sample_summary sample_summarize(const struct sample *s);

/* Returns the value below which `fraction` (0 to 1) of the values lie; 0: there are no values. */
double sample_percentile(const struct sample *s, double fraction);

void sample_sort(float *values, size_t n);

/* Returns the value below which `fraction` (0 to 1) of the sorted values lie, interpolated between
 * neighbours. `n` is at least 1. */
double sample_percentile_of(const float *sorted, size_t n, double fraction);

/* Advances the state of the random generator that chooses the sample, and returns it. A state of 0
 * stands for the fixed seed. */
uint64_t sample_next_random(uint64_t *state);

#endif
