/* The times of all steps of a run in order, recorded or not. */
#ifndef CORE_BASELINE_H
#define CORE_BASELINE_H

#include "core/util/sample.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* 4 MB. Of longer runs the first BASELINE_ORDERED steps are kept in order, the others as a random
 * sample. */
enum { BASELINE_KEPT = 1000000, BASELINE_ORDERED = 10000 };

struct baseline {
	VEC(float) ms;
	uint64_t n;
	uint64_t random;
	double first_ms; /* of step 0 with the start-up, not counted among the others; 0: unknown */
	uint64_t last_recorded; /* number of the last recorded one, from 1; 0: none */
};

void baseline_add(struct baseline *b, double ms, bool is_recorded);
void baseline_free(struct baseline *b);

#endif
