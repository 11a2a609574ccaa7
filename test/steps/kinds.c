/* The table of generated programs. */
#include "test/steps/kinds.h"

#define ROW(name) #name, kind_##name
const struct kind kinds[] = {
	{ ROW(plain), 0 },
	{ ROW(accumulate_2), 0 },
	{ ROW(accumulate_4), 0 },
	{ ROW(accumulate_8), 0 },
	{ ROW(evaluate_every_n), 0 },
	{ ROW(two_optimizers), 0 },
	{ ROW(critic_five), 0 },
	{ ROW(inner_loop), 0 },
	{ ROW(stochastic_depth), 0 },
	{ ROW(first_differs), 0 },
	{ ROW(warm_up), 0 },
	{ ROW(extras), 0 },
	{ ROW(checkpoint_every_2), 0 },
	{ ROW(checkpoint_every_n), 0 },
	{ ROW(norms_every_2), KIND_BY_FRAMES },
	{ ROW(epochs), 0 },
	{ ROW(train_eval_train), 0 },
	{ ROW(checkpointed), 0 },
	{ ROW(experts), 0 },
	{ ROW(scaler_skips), 0 },
	{ ROW(lr_finder), 0 },
	{ ROW(dynamic_shapes), 0 },
	{ ROW(reads_per_layer), 0 },
	{ ROW(reinforcement), 0 },
	{ ROW(requests), 0 },
	{ ROW(tokens), 0 },
	{ ROW(samples), 0 },
	{ ROW(graph_replay), KIND_NO_NOISE },
	{ ROW(graph_and_launches), 0 },
	{ ROW(graph_after_eager), 0 },
	{ ROW(prefetch_thread), 0 },
	{ ROW(pool), 0 },
	{ ROW(worker_jobs), 0 },
	{ ROW(pipeline), 0 },
	{ ROW(few_kernels), 0 },
	{ ROW(few_kernels_bare), KIND_NO_PLACE },
	{ ROW(equal_inner), 0 },
	{ ROW(tiny), KIND_NO_NOISE },
	{ ROW(converging), 0 },
	{ ROW(double_buffered), 0 },
	{ ROW(solver), 0 },
	{ ROW(varied_requests), 0 },
	{ ROW(continuous_batching), 0 },
	{ ROW(growing_requests), 0 },
	{ ROW(never_repeats), KIND_NO_STEP | KIND_NO_NOISE },
	{ ROW(random_order), KIND_NO_STEP | KIND_NO_NOISE },
	{ ROW(uploads), KIND_NO_STEP | KIND_NO_NOISE },
};
const uint32_t n_kinds = sizeof(kinds) / sizeof(kinds[0]);

void kind_make(const struct kind *kind, struct program *p, uint32_t size, uint32_t seed)
{
	uint64_t start = 0; /* from the name, so that it does not depend on other rows */
	for (const char *c = kind->name; *c; c++)
		start = start * 31 + (unsigned char)*c;
	program_start(p, start * 1000 + seed * 10 + size);
	p->telling_names = program_chance(p, 70);
	kind->make(p, size);
}
