/*
 * Kinds of generated programs (test/steps/program.h). Each row of the table is a loop as real
 * programs have it, in three sizes and with one variant per seed. Minimal sequences that step
 * learning once got wrong are kinds, too.
 */
#ifndef TEST_STEPS_KINDS_H
#define TEST_STEPS_KINDS_H

#include "test/steps/program.h"

enum { KIND_SIZES = 3 };

struct kind {
	const char *name;
	void (*make)(struct program *p, uint32_t size);
	uint32_t flags;
};

enum kind_flag {
	KIND_NO_STEP = 1,  /* the program has no steps, so any answer is wrong */
	KIND_NO_PLACE = 2, /* nothing shows where in its iteration a step ends */
	KIND_NO_NOISE = 4, /* the program has so few launches that noise would dominate */
	/*
	 * The program begins with the same launches as one with other steps, so it is only tried
	 * with frames.
	 */
	KIND_BY_FRAMES = 8,
};

extern const struct kind kinds[];
extern const uint32_t n_kinds;

/* Generates a program in `p`. Free it with program_free(). */
void kind_make(const struct kind *kind, struct program *p, uint32_t size, uint32_t seed);

/* One function per row of the table. */
#define KIND(name) void kind_##name(struct program *p, uint32_t size)
KIND(plain);
KIND(accumulate_2);
KIND(accumulate_4);
KIND(accumulate_8);
KIND(evaluate_every_n);
KIND(two_optimizers);
KIND(critic_five);
KIND(inner_loop);
KIND(stochastic_depth);
KIND(first_differs);
KIND(warm_up);
KIND(extras);
KIND(checkpoint_every_2);
KIND(checkpoint_every_n);
KIND(norms_every_2);
KIND(epochs);
KIND(train_eval_train);
KIND(checkpointed);
KIND(experts);
KIND(scaler_skips);
KIND(lr_finder);
KIND(dynamic_shapes);
KIND(reads_per_layer);
KIND(reinforcement);
KIND(requests);
KIND(tokens);
KIND(samples);
KIND(graph_replay);
KIND(graph_and_launches);
KIND(graph_after_eager);
KIND(prefetch_thread);
KIND(pool);
KIND(worker_jobs);
KIND(pipeline);
KIND(few_kernels);
KIND(few_kernels_bare);
KIND(equal_inner);
KIND(tiny);
KIND(solver);
KIND(varied_requests);
KIND(continuous_batching);
KIND(growing_requests);
KIND(converging);
KIND(double_buffered);
KIND(never_repeats);
KIND(random_order);
KIND(uploads);

#endif
