/*
 * What can be found at all: the trigrams of a thread's launches that occur exactly once per step,
 * in a sequence with known true steps. No engine that counts one trigram can do better than these.
 */
#ifndef TEST_STEPS_ANCHORS_H
#define TEST_STEPS_ANCHORS_H

#include "test/steps/sequence.h"

struct anchors {
	uint32_t n;	  /* once in every step, except the first three */
	uint32_t n_place; /* and completed by the last launch of every step */
};

/* Judges by the first truth alone, or by the second. */
void anchors_count(struct anchors *a, const struct sequence *s, enum program_end truth);

#endif
