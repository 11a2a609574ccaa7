/*
 * Decides whether a loop that was found can be accepted as the step: as the final answer, or as a
 * provisional one while learning continues. What looks like a step may be a layer, a micro-batch or
 * an inner loop. So the less a level shows of what only steps have, the more iterations it needs.
 * Pure functions of a stretch of events and a level in it (core/steps/levels_find.h).
 */
#ifndef CORE_LEVELS_BELIEVE_H
#define CORE_LEVELS_BELIEVE_H

#include "core/steps/levels_find.h"

/* What suggests that a level is the step. It determines how many iterations are demanded. */
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
	bool ended; /* nothing more will come, so waiting is pointless */
};

struct level_belief {
	bool is_enough;	   /* for a final answer */
	bool is_promising; /* for a provisional answer */
	/* An optimizer steps in the stretch's latter half, but not in the level's iterations. */
	bool optimizer_outside;
	bool is_refuted;	   /* the level shows that it is only part of the step */
	uint32_t iterations_short; /* with this many more iterations it may be enough; 0: unknown */
	struct level_signs signs;
};

struct level_belief levels_believe(const struct levels_store *s, const struct levels_index *x,
				   const struct levels_level *level,
				   const struct level_demands *demands);

/* levels_sure.c: returns the confidence, 0 to 1. */
double levels_sure(const struct level_signs *s);

/* Whether the level continues at the end of the stretch. */
bool level_is_current(const struct levels_index *x, const struct levels_level *level);

/*
 * levels_describe.c: fills in the level's boundary, its count so far and its backup. Returns 0 or
 * -ENOMEM.
 */
int levels_describe(const struct levels_store *s, const struct levels_index *x,
		    const struct levels_level *level, const struct level_signs *signs,
		    struct level_choice *out);

enum levels_agreement {
	LEVELS_OTHER, /* they count different steps */
	LEVELS_SAME,  /* the same steps, though they may end at another launch */
	/*
	 * The same steps without a few: the first ones, whose launches had other shapes, or an
	 * occasional one that lacks a branch.
	 */
	LEVELS_SAME_FEWER,
};

/* levels_describe.c: compares two choices by the stored events. */
enum levels_agreement levels_compare(const struct levels_store *s, const struct level_choice *was,
				     const struct level_choice *now);

#endif
