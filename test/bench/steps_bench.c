/* What step learning costs the collector: it analyzes 100,000 launches that have no steps. */
#include "core/runtime/token.h"
#include "core/steps/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LAUNCHES = 100000, BATCH = 1000, REPEATS = 5 };

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % n);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* `kinds` of kernels in random order; every fiftieth looks like an optimizer's. */
static double learn_s(uint32_t kinds)
{
	struct levels *l = levels_new();
	struct level_choice choice;
	bool is_known = false;
	if (!l)
		abort();
	double begin = now_s();
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		levels_feed(l, random_below(2),
			    &(struct level_event){
				    .token = token_pair(random_below(kinds) + 1, 1) * TOKEN_K0,
				    .begin_ns = i * 10000ull,
				    .end_ns = i * 10000ull + 5000,
				    .hints = LEVEL_NAMED | (random_below(50) ? 0 : LEVEL_OPTIMIZER),
			    });
		if (i % BATCH == BATCH - 1)
			is_known |= levels_vote(l, &choice);
	}
	double took = now_s() - begin;
	levels_free(l);
	return is_known ? -1 : took;
}

int main(void)
{
	static const uint32_t kinds[] = { 4, 12, 100, 2000 };
	printf("learning %d launches that have no step, CPU seconds of the collector, best of %d "
	       "(budget 0.2):\n",
	       LAUNCHES, REPEATS);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		double best = 1e9;
		for (int i = 0; i < REPEATS; i++) {
			double took = learn_s(kinds[k]);
			best = took < best ? took : best;
		}
		printf("  %5u kinds of kernels %8.3f\n", kinds[k], best);
	}
	return 0;
}
