/*
 * Computes the confidence of an answer: of all answers with confidence p, a share p is right. The
 * confidence is a logistic function of the level's signs, and does not depend on the kind of
 * program. docs/internals/steps-suite.md describes how the weights were fitted to generated
 * programs.
 *
 * Real programs have loops of more kinds. So an answer that the stacks do not confirm is worth less
 * (levels_sure_alone()).
 */
#include "core/steps/levels_believe.h"

#include <math.h>

#define WEIGHT_CONSTANT	  -0.10
#define WEIGHT_ITERATIONS -0.09
#define WEIGHT_COVERAGE	  1.86
#define WEIGHT_ALIKE	  -0.63
#define WEIGHT_UNUSUAL	  1.02
#define WEIGHT_LATTER	  -0.04
#define WEIGHT_OPTIMIZER  1.00
#define WEIGHT_ENOUGH	  2.58

/*
 * Share of right answers among those of 0.9 and more that launches alone gave for fresh programs
 * (docs/internals/steps-suite.md): 14 of 16 that end with an optimizer, and 19 of 32 others.
 */
#define MOST_ALONE_BY_OPTIMIZER 0.88
#define MOST_ALONE_BY_GAP	0.60

double levels_sure(const struct level_signs *s)
{
	double x = WEIGHT_CONSTANT + WEIGHT_ITERATIONS * log2(s->iterations) +
		   WEIGHT_COVERAGE * s->coverage + WEIGHT_ALIKE * s->alike +
		   WEIGHT_UNUSUAL * s->unusual + WEIGHT_LATTER * s->is_latter +
		   WEIGHT_OPTIMIZER * s->has_optimizer + WEIGHT_ENOUGH * s->is_enough;
	return 1 / (1 + exp(-x));
}

double levels_sure_alone(double confidence, enum level_boundary boundary)
{
	double most = boundary == LEVEL_BY_OPTIMIZER ? MOST_ALONE_BY_OPTIMIZER : MOST_ALONE_BY_GAP;
	bool is_by_launches = boundary == LEVEL_BY_OPTIMIZER || boundary == LEVEL_BY_GAP;
	return is_by_launches && confidence > most ? most : confidence;
}
