/* Adds noise to a program (test/steps/program.h): changes its launches at random. */
#ifndef TEST_STEPS_NOISE_H
#define TEST_STEPS_NOISE_H

#include "test/steps/program.h"

enum noise {
	NOISE_NONE,
	NOISE_INSERTED, /* 1 % more launches, of other kernels, on the program's own threads */
	NOISE_DROPPED,	/* 2 % of the launches are missing */
	NOISE_SWAPPED,	/* 3 % of the launches are swapped with the next one of the same thread */
	NOISE_THREADS,	/* two more threads make 10 % more launches, at random times */
	NOISES
};

extern const char *const noise_names[NOISES];

/* Copies `from` to `to` with noise. Free `to` with program_free(). */
void noise_make(struct program *to, const struct program *from, enum noise noise, uint32_t seed);

#endif
