/*
 * Whether a loop that was found is to be believed to be the step: at once for good, or provisional, while learning goes on. What
 * looks like a step may be a layer, one of many micro-batches, or an inner loop; so the less a level shows of what only steps have, the
 * more of it must come. Pure functions of a stretch of events and a level in it (core/steps/levels_find.h).
 */
#ifndef CORE_LEVELS_BELIEVE_H
#define CORE_LEVELS_BELIEVE_H

#include "core/steps/levels_find.h"

/* What speaks for a level, by which turns are demanded of it. */
enum level_evidence {
	EVIDENCE_OPTIMIZER,
	EVIDENCE_TAIL,
	EVIDENCE_INNER,
	EVIDENCE_TRAINING,
	EVIDENCE_TRAINING_UNFED,
	EVIDENCE_UNREAD,
	EVIDENCE_GRAPH,
	EVIDENCE_EXCHANGE,
	EVIDENCE_HOST,
	EVIDENCE_HOST_SMALL,
	EVIDENCE_BARE,
	EVIDENCE_SINGLE,
	LEVEL_EVIDENCES
};

struct level_demands {
	uint32_t factor; /* on the iterations that are demanded */
	bool wants_optimizer;
	bool ended; /* nothing more will come, so there is nothing to wait for */
};

struct level_belief {
	bool is_enough;	   /* to stay with it */
	bool is_promising; /* to count it provisional */
	bool optimizer_outside; /* an optimizer steps in the latter half of the stretch, and not in its iterations */
	bool is_refuted;	   /* what was counted provisional by it is to be doubted */
	uint32_t iterations_short; /* so few iterations more and it may be enough; 0: no saying */
	struct level_signs signs;
};

struct level_belief levels_believe(const struct levels_store *s, const struct levels_index *x,
				   const struct levels_level *level,
				   const struct level_demands *demands);

/* levels_sure.c */
double levels_sure(const struct level_signs *s);

/* Whether the level goes on at the end of the stretch. */
bool level_is_current(const struct levels_index *x, const struct levels_level *level);

/* levels_describe.c: the level's boundary, its count so far and its backup. 0 or -ENOMEM. */
int levels_describe(const struct levels_store *s, const struct levels_index *x,
		    const struct levels_level *level, const struct level_signs *signs,
		    struct level_choice *out);

enum levels_agreement {
	LEVELS_OTHER,	   /* they count other steps */
	LEVELS_SAME,	   /* the same, though they may end them at another launch */
	LEVELS_SAME_FEWER, /* the same less some: the first ones, whose launches had other shapes, or now and then one that lacks a branch */
};

/* levels_describe.c: of two choices, by the stored events. */
enum levels_agreement levels_compare(const struct levels_store *s, const struct level_choice *was,
				     const struct level_choice *now);

#endif
