/*
 * Launch sequences as input of step learning: a program's launches with its true steps, appended by
 * a test or made from a program (test/steps/trial.h). Every appended launch takes SEQUENCE_BUSY_NS
 * and begins SEQUENCE_APART_NS after the previous one.
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
	uint32_t *ends; /* true steps: the number of events before each one's end */
	uint32_t n_ends, ends_allocated;
	struct program_mark *marks; /* the same, and ends that are no step by the first truth */
	uint32_t n_marks, marks_allocated;
	uint64_t now_ns;
};

/* If memory is short the program ends: these are tests. */
void sequence_add(struct sequence *s, uint32_t thread, uint64_t token, uint32_t hints);
void sequence_end_step(struct sequence *s);
void sequence_end(struct sequence *s, uint32_t ends); /* enum program_end */
void sequence_free(struct sequence *s);

/* What learning made of a sequence. */
struct sequence_result {
	bool locked;
	struct level_choice choice;
	uint32_t locked_at; /* number of events fed by then */
	bool moved;	    /* since then: the same steps, which end at another launch */
	bool corrected;	    /* the first answer, given at `tried_at`, differed */
	uint32_t tried_at;
	struct level_choice first; /* the first answer */
	uint32_t numbered_at;	   /* events fed when steps were last numbered */
	uint64_t n_before;	   /* steps counted by then */
	double locked_steps;	   /* true steps that had passed by then, without the setup */
	uint32_t n_steps;	   /* true steps from there on */
	double one_per_step;	   /* share of those with exactly one boundary */
	double exact;		   /* share of those whose end is a boundary */
	int32_t typical_late;	   /* events from a true end to the nearest boundary, median */
	double seconds;		   /* spent in learning */
	uint32_t looks;		   /* boundaries in all */
};

/* Feeds the sequence in batches of `batch` events, votes after each, and concludes if asked. */
void sequence_run(const struct sequence *s, uint32_t batch, bool conclude,
		  struct sequence_result *r);

#endif
