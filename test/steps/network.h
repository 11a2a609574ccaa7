/*
 * Networks for generated programs (test/steps/program.h): kernels in the order in which frameworks
 * launch them. As in real programs, all layers have the same kernels, a few kernels do most of the
 * work, and few kernels are launched only once per step.
 */
#ifndef TEST_STEPS_NETWORK_H
#define TEST_STEPS_NETWORK_H

#include "test/steps/program.h"

struct kernel {
	uint16_t kernel, grid;
};

struct kernels {
	uint32_t n;
	struct kernel at[120];
};

enum optimizer_style {
	OPTIMIZER_FOREACH,	 /* a few launches for all parameters */
	OPTIMIZER_FUSED,	 /* one to three launches for all parameters */
	OPTIMIZER_PER_PARAMETER, /* four launches for each parameter */
	OPTIMIZER_STYLES
};

struct network {
	struct kernels before, layer, after; /* forward pass; `after` is the head and the loss */
	struct kernels back_before, back_layer, back_after;
	struct kernels update; /* one optimizer update, of all parameters or of one; see `style` */
	uint32_t layers, parameters;
	enum optimizer_style style;
	uint32_t backward_thread;
	bool uploads;	 /* each step copies a batch to the device */
	bool zeroes;	 /* launches zero the gradients at the beginning of the backward pass */
	bool reads_loss; /* each step ends with a copy of the loss to the host */
	uint32_t pause_us;
};

/* Makes a random network. `size` 0, 1 or 2: it has about 20, 100 or 400 launches per step. */
void network_make(struct network *net, struct program *p, uint32_t size);
/*
 * Like network_make(), but also appends what a program does before its loop: it initializes and
 * copies parameters.
 */
void network_start(struct network *net, struct program *p, uint32_t size);

/* Launches all kernels of the list, with grids larger by `grid_more`. */
void launch_all(struct program *p, const struct kernels *list, uint32_t grid_more);
/* Fills `list` with `n` launches of up to `pool` different kernels. */
void kernels_make(struct kernels *list, struct program *p, uint32_t n, uint32_t pool);

void network_forward(struct program *p, const struct network *net);
/*
 * Make a forward pass in the current phase and on the current thread. network_infer_more() has
 * grids that are larger by `more`, as for a larger batch.
 */
void network_infer(struct program *p, const struct network *net);
void network_infer_more(struct program *p, const struct network *net, uint32_t more);
void network_backward(struct program *p, const struct network *net);
void network_optimizer(struct program *p, const struct network *net);

/* Copies a batch if `net` does so, and makes a forward and a backward pass. */
void network_gradients(struct program *p, const struct network *net);
/* Like network_gradients(), and then runs the optimizer. */
void network_step(struct program *p, const struct network *net);
/* Reads the loss if `net` does so, marks the end `ends` (enum program_end), and pauses. */
void network_finish_step(struct program *p, const struct network *net, uint32_t ends);
/* Runs the optimizer, and then ends the step with END_STEP. */
void network_end_step(struct program *p, const struct network *net);

#endif
