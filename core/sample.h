/* Many numbers in bounded memory: exact count, mean, deviation and extremes, percentiles from an even sample. */
#ifndef CORE_SAMPLE_H
#define CORE_SAMPLE_H

#include <stdint.h>

enum { SAMPLE_KEPT = 4096 }; /* the p99 of 4,096 is good to about 0.3 percentiles */

struct sample {
	uint64_t n;
	double mean, m2, min, max;
	uint64_t random;
	double kept[SAMPLE_KEPT];
};

void sample_add(struct sample *s, double value);
double sample_deviation(const struct sample *s);

/* `fraction` in 0..1; 0 if there is nothing. */
double sample_percentile(const struct sample *s, double fraction);

#endif
