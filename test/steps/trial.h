/*
 * A trial feeds a program to step learning, launch by launch, and compares the answer with the
 * program's true steps. Only trial_sequence() makes the engine's input; what the engine sees of a
 * program is its evidence.
 */
#ifndef TEST_STEPS_TRIAL_H
#define TEST_STEPS_TRIAL_H

#include "test/steps/sequence.h"

enum evidence {
	EVIDENCE_LAUNCHES, /* tokens, times, waits, copies, graphs; no names */
	EVIDENCE_NAMES,	   /* and kernels' names: PROF_PYTHON=off, or a program without Python */
	EVIDENCE_FRAMES,   /* and what frames say */
	EVIDENCES
};

extern const char *const evidence_names[EVIDENCES];

struct trial {
	bool locked;   /* while the program ran */
	bool answered; /* then or at its end */
	double confidence;
	enum program_end truth; /* the truth to compare with: END_OTHER if the answer is closer */
	double steps;		/* true steps that had begun when it locked on the final answer */
	bool moved;		/* since then: the same steps, which end at another launch */
	bool corrected;		/* the first answer differed */
	double steps_corrected; /* after this many more steps */
	uint32_t n_steps;	/* judged steps: after the lock, or all if it came at the end */
	bool tried;		/* the first answer was provisional */
	struct level_choice first, last;
	double first_one_per_step; /* `one_per_step` of the first answer */
	double one_per_step;	   /* share of the steps with exactly one boundary */
	double in_place;	   /* share of the steps whose end is a boundary */
	int32_t late;		   /* events from a true end to the nearest boundary, median */
	int32_t numbers_off;	   /* boundaries before the lock minus true ends before it */
	bool has_place;		   /* some trigram ends every step and occurs once in each */
	double seconds;
};

/*
 * Returns whether every step was counted, from the first one on. A boundary late in its step has
 * occurred once in the first.
 */
static inline bool trial_numbers_right(const struct trial *t)
{
	return t->numbers_off == 0 || (t->numbers_off == 1 && t->late > 0);
}

/* The caller frees `s`. */
void trial_sequence(struct sequence *s, const struct program *p, enum evidence evidence);
void trial_run(struct trial *t, const struct sequence *s);

/* Returns whether every step has one boundary. */
static inline bool trial_is_exact(const struct trial *t)
{
	return t->one_per_step == 1;
}

/*
 * Returns whether it locked on something that is no step. `share`: the share of the steps that must
 * have one boundary. It is below 1 if launches are lost or swapped: any of its three launches can
 * break an anchor.
 */
#define TRIAL_SHARE_CLEAN 0.95
#define TRIAL_SHARE_NOISY 0.80
static inline bool trial_is_false(const struct trial *t, double share)
{
	return t->answered && t->one_per_step < share;
}

#endif
