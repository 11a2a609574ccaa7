/*
 * Counts the anchors that exist at all: the trigrams of a thread's launches that occur exactly once
 * per step, in a sequence whose true steps are known. No engine that counts one trigram can find
 * the steps if there is none.
 */
#ifndef TEST_STEPS_ANCHORS_H
#define TEST_STEPS_ANCHORS_H

#include "test/steps/sequence.h"

struct anchors {
	uint32_t n;	  /* trigrams that occur once in every step except the first three */
	uint32_t n_place; /* trigrams of `n` that the last launch of every step completes */
};

/* Counts the anchors of `s`. `truth`: END_STEP or END_OTHER. */
void anchors_count(struct anchors *a, const struct sequence *s, enum program_end truth);

#endif
