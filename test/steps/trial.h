/*
 * A trial feeds a program to step learning, launch by launch, and compares the answer with the
 * program's true steps. enum evidence says what the engine gets to see of a program. Only
 * trial_sequence() generates the engine's input.
 */
#ifndef TEST_STEPS_TRIAL_H
#define TEST_STEPS_TRIAL_H

#include "test/steps/sequence.h"

enum evidence {
	EVIDENCE_LAUNCHES, /* tokens, times, waits, copies, graphs; no names */
	EVIDENCE_NAMES,	   /* also kernels' names: PROF_PYTHON=off, or a program without Python */
	EVIDENCE_FRAMES,   /* also Python frames */
	EVIDENCES
};

extern const char *const evidence_names[EVIDENCES];

struct trial {
	bool locked;   /* there was an answer while the program ran */
	bool answered; /* there was an answer, at the program's end at the latest */
	double confidence;
	enum program_end truth; /* the truth that is closer to the answer: END_STEP or END_OTHER */
	double steps;		/* number of true steps that had begun when the answer was given */
	bool moved;		/* afterwards, the same steps were given other ends */
	bool corrected;		/* the first answer counted other steps than the last one */
	double steps_corrected; /* number of steps after which the first answer was replaced */
	/*
	 * Number of steps that were judged: those after the answer, or all if it came at the end.
	 */
	uint32_t n_steps;
	bool tried; /* `first` is valid */
	struct level_choice first, last;
	double first_one_per_step; /* `one_per_step` of the first answer */
	double one_per_step;	   /* share of the steps with exactly one boundary */
	double in_place;	   /* share of the steps whose end is a boundary */
	/* Median number of events from a true end to the nearest boundary. */
	int32_t late;
	int32_t numbers_off; /* number of boundaries minus number of true ends, before the answer */
	bool has_place;	     /* a trigram exists that ends every step and occurs once in each */
	double seconds;
};

/*
 * Returns whether all steps were counted, from the first one on. A late boundary is
 * among the first launches of the next step, so it may have occurred once in the first step, too.
 */
static inline bool trial_numbers_right(const struct trial *t)
{
	return t->numbers_off == 0 || (t->numbers_off == 1 && t->late > 0);
}

/*
 * trial_sequence() generates the engine's input; free it with sequence_free(). trial_run() feeds it
 * and judges the answer.
 */
void trial_sequence(struct sequence *s, const struct program *p, enum evidence evidence);
void trial_run(struct trial *t, const struct sequence *s);

/* Returns whether every step has one boundary. */
static inline bool trial_is_exact(const struct trial *t)
{
	return t->one_per_step == 1;
}

/*
 * Returns whether the answer counts something that is not a step: less than `share` of the steps
 * have exactly one boundary. With noise the share is lower, because an anchor fails if any of its
 * three launches is lost or swapped.
 */
#define TRIAL_SHARE_CLEAN 0.95
#define TRIAL_SHARE_NOISY 0.80
static inline bool trial_is_false(const struct trial *t, double share)
{
	return t->answered && t->one_per_step < share;
}

#endif
