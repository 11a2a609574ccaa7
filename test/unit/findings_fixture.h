/*
 * A hand-made run for tests of the summaries: builder, timeline and findings, with fake_frames.h.
 */
#ifndef TEST_UNIT_FINDINGS_FIXTURE_H
#define TEST_UNIT_FINDINGS_FIXTURE_H

#include "core/analysis/summary.h"
#include "test/unit/fake_frames.h"
#include "test/unit/step_builder.h"

struct fixture {
	struct step_builder b;
	struct analyzer a;
	struct findings f;
};

/* Starts the timeline; without stacks. */
static inline struct fixture *fixture_begin(struct frames *frames)
{
	struct fixture *f = mem_zero(sizeof(*f));
	fake_forget();
	analyzer_start(&f->a, &f->b.tables, frames);
	return f;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;
	findings_free(&f->f);
	analyzer_free(&f->a);
	sb_free(&f->b);
	free(f);
	return 0;
}

#endif
