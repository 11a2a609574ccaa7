/* Noise in a sequence of launches: a program (test/steps/program.h) with random changes. */
#ifndef TEST_STEPS_NOISE_H
#define TEST_STEPS_NOISE_H

#include "test/steps/program.h"

enum noise {
	NOISE_NONE,
	NOISE_INSERTED, /* 1 % more launches, of other kernels, on any of the program's threads */
	NOISE_DROPPED,	/* 2 % fewer launches */
	NOISE_SWAPPED,	/* 3 % are swapped with the next one of their thread */
	NOISE_THREADS,	/* two more threads launch at random, 10 % of the program's launches */
	NOISES
};

extern const char *const noise_names[NOISES];

/* The caller frees `to`. */
void noise_make(struct program *to, const struct program *from, enum noise noise, uint32_t seed);

#endif
