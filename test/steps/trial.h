/*
 * A trial: a program is shown to step learning, launch by launch, and the answer is held against the program's true steps.
 * The engine's input is made in one place, trial_sequence(); what of a program it gets to see is its evidence.
 */
#ifndef TEST_STEPS_TRIAL_H
#define TEST_STEPS_TRIAL_H

#include "test/steps/sequence.h"

enum evidence {
	EVIDENCE_LAUNCHES, /* tokens, times, waits, copies, graphs; no look at any name */
	EVIDENCE_NAMES,	   /* and kernels' names: PROF_PYTHON=off, or a program without Python */
	EVIDENCE_FRAMES,   /* and what frames say */
	EVIDENCES
};

extern const char *const evidence_names[EVIDENCES];

struct trial {
	bool locked;   /* while the program ran */
	bool answered; /* then or at its end */
	double confidence;
	enum program_end
		truth; /* that the answer was held against: END_OTHER where it is nearer to that */
	double steps; /* true steps that had begun when it locked on the answer that stood in the end */
	bool moved;		/* since then: the same steps, which end at another launch */
	bool corrected;		/* it was another at first */
	double steps_corrected; /* after so many steps more */
	uint32_t
		n_steps; /* that were judged: those after the lock, or all where it came at the end */
	bool tried;	 /* the first answer came provisional: */
	struct level_choice first, last;
	double first_one_per_step; /* as `one_per_step`, of the first answer */
	double one_per_step;	   /* share of them that hold exactly one boundary */
	double in_place;	   /* share whose end is one */
	int32_t late;		   /* events from a true end to the nearest boundary, median */
	int32_t numbers_off;	   /* boundaries before the lock less true ends before it */
	bool has_place;		   /* some trigram ends every step and comes once in each */
	double seconds;
};

/* Whether every step was counted, from the first one on. A boundary that comes late in its step has come once in the first. */
static inline bool trial_numbers_right(const struct trial *t)
{
	return t->numbers_off == 0 || (t->numbers_off == 1 && t->late > 0);
}

/* `s` is freed by the caller. */
void trial_sequence(struct sequence *s, const struct program *p, enum evidence evidence);
void trial_run(struct trial *t, const struct sequence *s);

/* Every step has one boundary. */
static inline bool trial_is_exact(const struct trial *t)
{
	return t->one_per_step == 1;
}

/* A lock on something that is no step. `share`: of the steps that must hold one boundary; less than all where launches are
 * lost or exchanged, since an anchor of three launches goes with any of them. */
#define TRIAL_SHARE_CLEAN 0.95
#define TRIAL_SHARE_NOISY 0.80
static inline bool trial_is_false(const struct trial *t, double share)
{
	return t->answered && t->one_per_step < share;
}

#endif
