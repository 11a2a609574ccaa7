/*
 * Launch sequences as input of step learning: launches, and the true steps. A test appends launches
 * directly, or test/steps/trial.h makes the sequence from a program. Every launch that a test
 * appends takes SEQUENCE_BUSY_NS and begins SEQUENCE_APART_NS after the previous one.
 */
#ifndef TEST_STEPS_SEQUENCE_H
#define TEST_STEPS_SEQUENCE_H

#include "core/steps/levels.h"
#include "test/steps/program.h"

#define SEQUENCE_APART_NS 10000
#define SEQUENCE_BUSY_NS  5000

struct sequence_event {
	struct level_event event;
	uint32_t thread;
};

struct sequence {
	struct sequence_event *events;
	uint32_t n, allocated;
	uint32_t *ends; /* for each true step, the number of events up to its end */
	uint32_t n_ends, ends_allocated;
	/* Like `ends`, with further ends that are not a step's end by the first truth. */
	struct program_mark *marks;
	uint32_t n_marks, marks_allocated;
	uint64_t now_ns;
};

/* These functions abort if memory is exhausted. */
void sequence_add(struct sequence *s, uint32_t thread, uint64_t token, uint32_t hints);
void sequence_end_step(struct sequence *s);
void sequence_end(struct sequence *s, uint32_t ends); /* `ends`: enum program_end */
void sequence_free(struct sequence *s);

/* What step learning found in a sequence. */
struct sequence_result {
	/* There is an answer. */
	bool locked;
	struct level_choice choice;
	uint32_t locked_at; /* number of events fed when the answer was given */
	bool moved;	    /* afterwards the same steps were given other ends */
	bool corrected;	    /* the first answer, given at `tried_at`, counted other steps */
	uint32_t tried_at;
	struct level_choice first; /* the first answer */
	uint32_t numbered_at;	   /* number of events fed when the steps were last numbered */
	uint64_t n_before;	   /* number of steps counted at that time */
	double locked_steps;	   /* number of true steps before the answer, without the set-up */
	uint32_t n_steps;	   /* number of true steps after the answer */
	double one_per_step;	   /* share of these steps with exactly one boundary */
	double exact;		   /* share of these steps whose end is a boundary */
	/* Median number of events from a true end to the nearest boundary. */
	int32_t typical_late;
	double seconds; /* time spent in step learning */
	uint32_t looks; /* number of boundaries in the whole sequence */
};

/*
 * Feeds the sequence in batches of `batch` events, and votes after each batch. With `conclude`,
 * also asks for an answer at the end. Fills in `r`.
 */
void sequence_run(const struct sequence *s, uint32_t batch, bool conclude,
		  struct sequence_result *r);

#endif
