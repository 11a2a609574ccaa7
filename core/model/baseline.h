/* How long the steps of a run took, in order, all of them: recorded or not. */
#ifndef CORE_BASELINE_H
#define CORE_BASELINE_H

#include "core/util/sample.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* 4 MB. Of a longer run the first steps are kept in order, the rest as an even sample. */
enum { BASELINE_KEPT = 1000000, BASELINE_ORDERED = 10000 };

struct baseline {
	VEC(float) ms;
	uint64_t n;
	uint64_t random;
	double first_ms; /* step 0, set-up included, in no figure of the others; 0: not known */
	uint64_t last_recorded; /* which of them, from 1, was the last one recorded; 0: none */
};

void baseline_add(struct baseline *b, double ms, bool is_recorded);
void baseline_free(struct baseline *b);

#endif
