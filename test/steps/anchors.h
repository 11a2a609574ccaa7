/*
 * What can be found at all: of a sequence whose true steps are known, the trigrams of a thread's launches that come exactly
 * once per step. No engine that counts one trigram can do better than these.
 */
#ifndef TEST_STEPS_ANCHORS_H
#define TEST_STEPS_ANCHORS_H

#include "test/steps/sequence.h"

struct anchors {
	uint32_t n;	  /* once in every step, the first three aside */
	uint32_t n_place; /* and completed by the last launch of every one */
};

/* By the first truth alone, or by the second. */
void anchors_count(struct anchors *a, const struct sequence *s, enum program_end truth);

#endif
