/*
 * Decides whether a loop can be accepted as the step: as the final answer, or as a provisional one
 * while learning continues. A loop that looks like a step may be a layer, a micro-batch or an inner
 * loop. So the less a level shows of what only steps have, the more iterations are demanded. The
 * functions depend only on a stretch of events and a level in it (core/steps/levels_find.h).
 */
#ifndef CORE_LEVELS_BELIEVE_H
#define CORE_LEVELS_BELIEVE_H

#include "core/steps/levels_find.h"

/*
 * What suggests that a level is the step. It determines how many iterations are demanded: see
 * `demanded` in levels_believe.c.
 */
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
	uint32_t factor; /* factor on the number of iterations demanded */
	/* Only a step that an optimizer ends is accepted. */
	bool wants_optimizer;
	bool ended; /* no more events will come, so waiting is pointless */
};

struct level_belief {
	bool is_enough;	   /* the iterations suffice for a final answer */
	bool is_promising; /* the iterations suffice for a provisional answer */
	/*
	 * An optimizer launches in the latter half of the events, but not in most of the level's
	 * iterations.
	 */
	bool optimizer_outside;
	bool is_refuted; /* the iterations show that the level is only part of the step */
	/* Number of further iterations that may suffice for an answer; 0: unknown. */
	uint32_t iterations_short;
	struct level_signs signs;
};

/* Returns how far the level can be accepted. */
struct level_belief levels_believe(const struct levels_store *s, const struct levels_index *x,
				   const struct levels_level *level,
				   const struct level_demands *demands);

/* levels_sure.c: returns the confidence of an answer, 0 to 1. */
double levels_sure(const struct level_signs *s);

/* Returns whether the level continues at the end of the searched events. */
bool level_is_current(const struct levels_index *x, const struct levels_level *level);

/*
 * levels_describe.c: describes the level in `out`: boundary, number of steps so far, and backup.
 * Returns 0 or -ENOMEM.
 */
int levels_describe(const struct levels_store *s, const struct levels_index *x,
		    const struct levels_level *level, const struct level_signs *signs,
		    struct level_choice *out);

enum levels_agreement {
	LEVELS_OTHER, /* the choices count different steps */
	LEVELS_SAME,  /* the choices count the same steps, but may end them at different launches */
	/*
	 * The later choice counts the same steps without a few: the first ones, whose launches had
	 * other shapes, or a step now and then that lacks a branch.
	 */
	LEVELS_SAME_FEWER,
};

/* levels_describe.c: compares two choices on the stored events. */
enum levels_agreement levels_compare(const struct levels_store *s, const struct level_choice *was,
				     const struct level_choice *now);

#endif
