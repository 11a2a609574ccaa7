/* What tests of step learning expect of a whole sequence. */
#ifndef TEST_UNIT_LEVEL_CHECKS_H
#define TEST_UNIT_LEVEL_CHECKS_H

#include "test/steps/sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static inline void check_steps(const struct sequence *s, double one_per_step, double exact,
			       double within_steps)
{
	struct sequence_result r;
	sequence_run(s, 1, false, &r);
	if (!r.locked)
		fail_msg("abstained on %u events, %u steps", s->n, s->n_ends);
	if (r.one_per_step < one_per_step || r.exact < exact || r.locked_steps > within_steps ||
	    !r.n_steps)
		fail_msg("one boundary per step in %.3f, at its end in %.3f of %u, locked after "
			 "%.1f steps",
			 r.one_per_step, r.exact, r.n_steps, r.locked_steps);
	assert_in_range((int)(r.choice.confidence * 1000), 1, 1000);
}

#endif
