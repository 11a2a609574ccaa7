/* What disturbs a sequence of launches: the same program (test/steps/program.h) with a part of it changed, at random. */
#ifndef TEST_STEPS_NOISE_H
#define TEST_STEPS_NOISE_H

#include "test/steps/program.h"

enum noise {
	NOISE_NONE,
	NOISE_INSERTED, /* 1 % more launches, of other kernels, on any of the program's threads */
	NOISE_DROPPED,	/* 2 % fewer */
	NOISE_SWAPPED,	/* 3 % change places with the next of their thread */
	NOISE_THREADS,	/* two more threads launch what they like, one for ten of the program's */
	NOISES
};

extern const char *const noise_names[NOISES];

/* `to` is freed by the caller. */
void noise_make(struct program *to, const struct program *from, enum noise noise, uint32_t seed);

#endif
