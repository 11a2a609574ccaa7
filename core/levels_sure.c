/*
 * How sure an answer is: of answers that are called so sure, that share is right. A logistic of what was seen of the level, with weights
 * fitted to made programs (docs/steps-suite.md says how); no look at what kind of program it is.
 */
#include "core/levels_believe.h"

#include <math.h>

#define WEIGHT_CONSTANT	 0.71
#define WEIGHT_TURNS	 -0.23
#define WEIGHT_COVERAGE	 1.60
#define WEIGHT_ALIKE	 -0.64
#define WEIGHT_UNUSUAL	 0.35
#define WEIGHT_LATTER	 0.59
#define WEIGHT_OPTIMIZER 1.25
#define WEIGHT_ENOUGH	 1.38

double levels_sure(const struct level_signs *s)
{
	double x = WEIGHT_CONSTANT + WEIGHT_TURNS * log2(s->turns) + WEIGHT_COVERAGE * s->coverage +
		   WEIGHT_ALIKE * s->alike + WEIGHT_UNUSUAL * s->unusual +
		   WEIGHT_LATTER * s->is_latter + WEIGHT_OPTIMIZER * s->has_optimizer +
		   WEIGHT_ENOUGH * s->is_enough;
	return 1 / (1 + exp(-x));
}
