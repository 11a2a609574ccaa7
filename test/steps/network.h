/*
 * Networks for made programs (test/steps/program.h): kernels in the orders in which frameworks launch them. A layer's kernels
 * come again in every layer and a few kernels serve for most things, as in real ones; what is once per step is little.
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

/* `size` 0, 1, 2: some 20, 100, 400 launches a step. All else by the program's own chance. */
void network_make(struct network *net, struct program *p, uint32_t size);
/* The same, and what a program does before its loop: parameters drawn and copied, at its own pace. */
void network_start(struct network *net, struct program *p, uint32_t size);

void launch_all(struct program *p, const struct kernels *list, uint32_t grid_more);
/* Of kernels made for this program: `n` of them, from a pool of so many. */
void kernels_make(struct kernels *list, struct program *p, uint32_t n, uint32_t pool);

void network_forward(struct program *p, const struct network *net);
/* Forward without what only training does; with grids larger by `more`, as of a larger batch. */
void network_infer(struct program *p, const struct network *net);
void network_infer_more(struct program *p, const struct network *net, uint32_t more);
void network_backward(struct program *p, const struct network *net);
void network_optimizer(struct program *p, const struct network *net);

/* Data, forward, backward. */
void network_gradients(struct program *p, const struct network *net);
/* The same with the optimizer. */
void network_step(struct program *p, const struct network *net);
/* Its loss read, its end marked, the pause behind it. */
void network_finish_step(struct program *p, const struct network *net, uint32_t ends);
/* The optimizer, then the above with END_STEP. */
void network_end_step(struct program *p, const struct network *net);

#endif
