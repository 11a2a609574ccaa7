/*
 * Networks for made programs (test/steps/program.h): kernels in the order in which frameworks
 * launch them. As in real programs, each layer has the same kernels, a few kernels do most of the
 * work, and few are launched once per step.
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
	OPTIMIZER_FUSED,	 /* one to three */
	OPTIMIZER_PER_PARAMETER, /* four for each */
	OPTIMIZER_STYLES
};

struct network {
	struct kernels before, layer, after; /* forward: after is the head and the loss */
	struct kernels back_before, back_layer, back_after;
	struct kernels update; /* of the optimizer: of all parameters, or of one */
	uint32_t layers, parameters;
	enum optimizer_style style;
	uint32_t backward_thread;
	bool uploads; /* a batch is copied to the device */
	bool zeroes;  /* gradients are zeroed by launches, at the beginning of the backward pass */
	bool reads_loss; /* at the end of the step */
	uint32_t pause_us;
};

/* `size` 0, 1, 2: about 20, 100, 400 launches per step. All else is random. */
void network_make(struct network *net, struct program *p, uint32_t size);
/* The same, with a program's work before its loop: parameters are initialized and copied. */
void network_start(struct network *net, struct program *p, uint32_t size);

void launch_all(struct program *p, const struct kernels *list, uint32_t grid_more);
/* Makes a list of `n` kernels of this program, from a pool of `pool`. */
void kernels_make(struct kernels *list, struct program *p, uint32_t n, uint32_t pool);

void network_forward(struct program *p, const struct network *net);
/* Forward without training's extra work; with grids larger by `more`, as from a larger batch. */
void network_infer(struct program *p, const struct network *net);
void network_infer_more(struct program *p, const struct network *net, uint32_t more);
void network_backward(struct program *p, const struct network *net);
void network_optimizer(struct program *p, const struct network *net);

/* Data, forward, backward. */
void network_gradients(struct program *p, const struct network *net);
/* The same with the optimizer. */
void network_step(struct program *p, const struct network *net);
/* Reads the loss, marks the end, and makes the pause after it. */
void network_finish_step(struct program *p, const struct network *net, uint32_t ends);
/* The optimizer, then the above with END_STEP. */
void network_end_step(struct program *p, const struct network *net);

#endif
