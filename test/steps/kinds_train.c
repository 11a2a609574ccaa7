/* Kinds of programs that train a network. */
#include "test/steps/kinds.h"
#include "test/steps/network.h"

enum { STEPS = 60, LINE_EVALUATION = 40, LINE_CHECKPOINT = 50 };

static void step(struct program *p, const struct network *net)
{
	network_gradients(p, net);
	network_end_step(p, net);
}

static void evaluate(struct program *p, const struct network *net, uint32_t batches)
{
	for (uint32_t i = 0; i < batches; i++) {
		program_at(p, PHASE_DATA, THREAD_MAIN, LINE_EVALUATION);
		if (net->uploads)
			program_copy(p, WHAT_H2D);
		program_at(p, PHASE_FORWARD, THREAD_MAIN, LINE_EVALUATION + 1);
		network_infer(p, net);
		program_read_back(p);
		program_pause(p, 60);
	}
}

KIND(plain)
{
	struct network net;
	network_start(&net, p, size);
	for (int i = 0; i < STEPS; i++)
		step(p, &net);
}

static void accumulate(struct program *p, uint32_t size, uint32_t micro_batches)
{
	struct network net;
	network_start(&net, p, size);
	for (int i = 0; i < STEPS; i++) {
		for (uint32_t k = 1; k < micro_batches; k++) {
			network_gradients(p, &net);
			program_pause(p, net.pause_us);
		}
		step(p, &net);
	}
}

KIND(accumulate_2)
{
	accumulate(p, size, 2);
}

KIND(accumulate_4)
{
	accumulate(p, size, 4);
}

KIND(accumulate_8)
{
	accumulate(p, size, 8);
}

/* Evaluates after every few steps. Some variants begin with an evaluation, as Lightning does. */
KIND(evaluate_every_n)
{
	static const uint32_t everies[] = { 3, 5, 10, 20 };
	struct network net;
	network_start(&net, p, size);
	uint32_t every = everies[program_below(p, 4)], batches = program_between(p, 2, 15);
	if (program_chance(p, 30)) {
		evaluate(p, &net, 2);
		program_end(p, END_FREE);
	}
	for (uint32_t i = 1; i <= STEPS; i++) {
		step(p, &net);
		if (i % every == 0)
			evaluate(p, &net, batches);
	}
}

/* The step of a GAN's generator `net`, which the critic `judge` rates. It ends the iteration. */
static void adversary(struct program *p, const struct network *net, const struct network *judge)
{
	network_forward(p, net);
	network_infer(p, judge);
	network_backward(p, judge);
	network_backward(p, net);
	network_optimizer(p, net);
	network_finish_step(p, net, END_STEP | END_OTHER);
}

KIND(two_optimizers)
{
	struct network generator, critic;
	network_start(&generator, p, size);
	network_make(&critic, p, size);
	critic.update = generator.update;
	critic.style = generator.style;
	for (int i = 0; i < STEPS; i++) {
		network_step(p, &critic);
		program_end(p, END_OTHER);
		adversary(p, &generator, &critic);
	}
}

/* WGAN: five steps of the critic for each step of the generator. */
KIND(critic_five)
{
	struct network generator, critic;
	network_start(&generator, p, size);
	network_make(&critic, p, size);
	for (int i = 0; i < STEPS; i++) {
		for (int k = 0; k < 5; k++) {
			network_step(p, &critic);
			network_finish_step(p, &critic, END_OTHER);
		}
		adversary(p, &generator, &critic);
	}
}

/* A recurrent cell runs once per element of a sequence of varying length. */
KIND(inner_loop)
{
	struct network net;
	struct kernels cell, cell_back;
	network_start(&net, p, size);
	kernels_make(&cell, p, 3 + 3 * size, 3 + 2 * size);
	kernels_make(&cell_back, p, 4 + 4 * size, 3 + 2 * size);
	for (int i = 0; i < STEPS; i++) {
		uint32_t length = program_between(p, 1, 8);
		program_at(p, PHASE_FORWARD, THREAD_MAIN, 21);
		program_launch(p, 11, 0);
		for (uint32_t k = 0; k < length; k++)
			launch_all(p, &cell, 0);
		launch_all(p, &net.after, 0);
		program_at(p, PHASE_BACKWARD, net.backward_thread, 22);
		launch_all(p, &net.back_before, 0);
		for (uint32_t k = 0; k < length; k++)
			launch_all(p, &cell_back, 0);
		network_end_step(p, &net);
	}
}

KIND(stochastic_depth)
{
	struct network net;
	network_start(&net, p, size);
	uint32_t all = net.layers + 4;
	for (int i = 0; i < STEPS; i++) {
		net.layers = 0;
		for (uint32_t k = 0; k < all; k++)
			net.layers += program_chance(p, 80);
		step(p, &net);
	}
}

/*
 * SGD with momentum. The first step creates the buffers that later steps use, so its optimizer
 * launches other kernels.
 */
KIND(first_differs)
{
	struct network net;
	struct kernels update;
	network_start(&net, p, size);
	update = net.update;
	kernels_make(&net.update, p, update.n, 3);
	for (int i = 0; i < STEPS; i++) {
		step(p, &net);
		net.update = update;
	}
}

/* Warm-up before the loop: autotuning, other shapes, or compilation, as long as up to ten steps. */
KIND(warm_up)
{
	struct network net;
	struct kernels tried;
	network_start(&net, p, size);
	kernels_make(&tried, p, 20, 20);
	uint32_t n = 10 * (20 + 80 * size);
	for (uint32_t i = 0; i < n; i++) {
		const struct kernel *k = &tried.at[program_below(p, tried.n)];
		program_launch(p, k->kernel, k->grid + program_below(p, 3));
		if (program_chance(p, 20))
			program_copy(p, WHAT_H2D);
		if (program_chance(p, 10))
			program_wait(p, 100);
	}
	program_end(p, END_FREE);
	for (int i = 0; i < STEPS; i++)
		step(p, &net);
}

/* What real scripts do now and then: log, clip gradients, average the weights, save. */
KIND(extras)
{
	struct network net;
	struct kernels average, clip;
	network_start(&net, p, size);
	net.reads_loss = false;
	kernels_make(&average, p, 5, 4);
	kernels_make(&clip, p, 7, 5);
	for (int i = 1; i <= STEPS; i++) {
		network_gradients(p, &net);
		program_at(p, PHASE_OTHER, THREAD_MAIN, 25);
		launch_all(p, &clip, 0);
		network_optimizer(p, &net);
		if (i % 4 == 0) {
			program_at(p, PHASE_OTHER, THREAD_MAIN, 26);
			launch_all(p, &average, 0);
		}
		if (i % 10 == 0) {
			program_at(p, PHASE_OTHER, THREAD_MAIN, 27);
			program_read_back(p);
		}
		for (uint32_t k = 0; i % 25 == 0 && k < net.parameters; k++)
			program_copy(p, WHAT_D2H);
		program_end(p, END_STEP);
		program_pause(p, net.pause_us);
	}
}

/*
 * Writes a checkpoint after every `every`th step: copies each parameter to the host and waits for
 * it.
 */
static void checkpoint(struct program *p, uint32_t size, uint32_t every)
{
	struct network net;
	network_start(&net, p, size);
	uint32_t copies = program_between(p, 4, 40) * (program_chance(p, 30) ? 3 : 1);
	for (uint32_t i = 1; i <= 2 * STEPS; i++) {
		network_gradients(p, &net);
		network_optimizer(p, &net);
		if (net.reads_loss)
			program_read_back(p);
		program_at(p, PHASE_OTHER, THREAD_MAIN, LINE_CHECKPOINT);
		for (uint32_t k = 0; i % every == 0 && k < copies; k++)
			program_read_back(p);
		program_pause(p, i % every == 0 ? 2000 : 0);
		program_end(p, END_STEP);
		program_pause(p, net.pause_us);
	}
}

KIND(checkpoint_every_2)
{
	checkpoint(p, size, 2);
}

KIND(checkpoint_every_n)
{
	static const uint32_t everies[] = { 3, 4, 5, 10 };
	checkpoint(p, size, everies[program_below(p, 4)]);
}

/* After every second step, computes the norms of all parameters and reads each of them. */
KIND(norms_every_2)
{
	struct network net;
	struct kernels norm;
	network_start(&net, p, size);
	kernels_make(&norm, p, program_between(p, 1, 3), 3);
	uint32_t times = program_between(p, 4, 40);
	for (uint32_t i = 1; i <= 2 * STEPS; i++) {
		network_gradients(p, &net);
		network_optimizer(p, &net);
		program_at(p, PHASE_OTHER, THREAD_MAIN, LINE_CHECKPOINT);
		for (uint32_t k = 0; i % 2 == 0 && k < times; k++) {
			launch_all(p, &norm, k % 3);
			program_read_back(p);
		}
		network_finish_step(p, &net, END_STEP);
	}
}

/* Each epoch begins with a shuffle, and ends with a batch of another shape. */
KIND(epochs)
{
	struct network net;
	struct kernels shuffle;
	network_start(&net, p, size);
	kernels_make(&shuffle, p, 6, 6);
	uint32_t batches = program_between(p, 6, 15);
	for (uint32_t i = 0; i < STEPS + 20; i++) {
		uint32_t batch = i % batches, more = batch + 1 == batches ? 3 : 0;
		program_at(p, PHASE_DATA, THREAD_MAIN, 15);
		if (!batch)
			launch_all(p, &shuffle, 0);
		program_at(p, PHASE_FORWARD, THREAD_MAIN, 21);
		network_infer_more(p, &net, more);
		network_backward(p, &net);
		network_end_step(p, &net);
	}
}

/* Long evaluations between training. Only the steps of the training are judged. */
KIND(train_eval_train)
{
	struct network net;
	network_start(&net, p, size);
	for (int epoch = 0; epoch < 3; epoch++) {
		for (int i = 0; i < 30; i++)
			step(p, &net);
		evaluate(p, &net, 40);
		program_end(p, END_FREE);
	}
}

/* Activation checkpointing: activations are computed again in the backward pass. */
KIND(checkpointed)
{
	struct network net;
	network_start(&net, p, size);
	for (int i = 0; i < STEPS; i++) {
		network_forward(p, &net);
		program_at(p, PHASE_BACKWARD, net.backward_thread, 22);
		launch_all(p, &net.back_before, 0);
		for (uint32_t k = 0; k < net.layers; k++) {
			launch_all(p, &net.layer, 0);
			launch_all(p, &net.back_layer, 0);
		}
		network_end_step(p, &net);
	}
}

/* Appends a step from its forward pass on, and calls `after_layer` after each layer. */
static void step_with(struct program *p, const struct network *net,
		      void (*after_layer)(struct program *p))
{
	program_at(p, PHASE_FORWARD, THREAD_MAIN, 21);
	launch_all(p, &net->before, 0);
	for (uint32_t k = 0; k < net->layers; k++) {
		launch_all(p, &net->layer, 0);
		after_layer(p);
	}
	launch_all(p, &net->after, 0);
	network_backward(p, net);
	network_end_step(p, net);
}

static void run_experts(struct program *p)
{
	for (uint32_t e = 0; e < 4; e++) {
		if (!program_chance(p, 60))
			continue;
		program_launch(p, 5000 + e, program_below(p, 8));
		program_launch(p, 5010 + e, program_below(p, 8));
	}
}

/* Mixture of experts: which experts run, and how often, depends on the data. */
KIND(experts)
{
	struct network net;
	network_start(&net, p, size);
	for (int i = 0; i < STEPS; i++)
		step_with(p, &net, run_experts);
}

/*
 * Gradient scaling. If gradients overflow, which is frequent in the first steps, the optimizer is
 * skipped. By the first truth every iteration is a step, by the second one only those with an
 * optimizer.
 */
KIND(scaler_skips)
{
	struct network net;
	struct kernels check;
	network_start(&net, p, size);
	kernels_make(&check, p, 3, 3);
	for (int i = 0; i < STEPS; i++) {
		bool skipped = i < 2 || program_chance(p, 4);
		network_gradients(p, &net);
		program_at(p, PHASE_OTHER, THREAD_MAIN, 24);
		launch_all(p, &check, 0);
		program_read_back(p);
		if (!skipped)
			network_optimizer(p, &net);
		program_at(p, PHASE_OTHER, THREAD_MAIN, 25);
		program_launch(p, 12, 0);
		network_finish_step(p, &net, skipped ? END_STEP : END_STEP | END_OTHER);
	}
}

/*
 * Appends a step from its forward pass on, with grids that are larger by `more`, as for a larger
 * batch.
 */
static void step_of_shape(struct program *p, const struct network *net, uint32_t more)
{
	network_infer_more(p, net, more);
	program_at(p, PHASE_BACKWARD, net->backward_thread, 22);
	launch_all(p, &net->back_before, 0);
	for (uint32_t k = 0; k < net->layers; k++)
		launch_all(p, &net->back_layer, more);
	network_end_step(p, net);
}

/* Batches grow, so every launch that depends on the batch is new in every step. */
KIND(lr_finder)
{
	struct network net;
	network_start(&net, p, size);
	for (uint32_t i = 0; i < STEPS; i++) {
		program_at(p, PHASE_DATA, THREAD_MAIN, 20);
		program_copy(p, WHAT_H2D);
		program_at(p, PHASE_FORWARD, THREAD_MAIN, 21);
		step_of_shape(p, &net, i);
	}
}

/* Sequences of varying length: the grids of the layers have one of eight sizes, or any size. */
KIND(dynamic_shapes)
{
	struct network net;
	network_start(&net, p, size);
	uint32_t shapes = program_chance(p, 50) ? 8 : 1000;
	for (int i = 0; i < STEPS; i++) {
		uint32_t more = program_below(p, shapes);
		program_at(p, PHASE_FORWARD, THREAD_MAIN, 21);
		program_copy(p, WHAT_H2D);
		step_of_shape(p, &net, more);
	}
}

/* The host reads a number from the device in every layer. */
KIND(reads_per_layer)
{
	struct network net;
	network_start(&net, p, size);
	for (int i = 0; i < STEPS; i++)
		step_with(p, &net, program_read_back);
}

/*
 * Reinforcement learning. A rollout lasts as long as its game; four epochs of training follow. By
 * the second truth, each epoch's optimizer step is a step.
 */
KIND(reinforcement)
{
	struct network net;
	struct kernels advantage;
	network_start(&net, p, size);
	kernels_make(&advantage, p, 8, 8);
	for (int i = 0; i < STEPS; i++) {
		for (uint32_t k = program_between(p, 5, 15); k > 0; k--) {
			program_at(p, PHASE_DATA, THREAD_MAIN, 18);
			program_copy(p, WHAT_H2D);
			program_at(p, PHASE_FORWARD, THREAD_MAIN, 19);
			network_infer(p, &net);
			program_read_back(p);
		}
		launch_all(p, &advantage, 0);
		for (int k = 0; k < 4; k++) {
			network_forward(p, &net);
			network_backward(p, &net);
			network_optimizer(p, &net);
			network_finish_step(p, &net, k < 3 ? END_OTHER : END_STEP | END_OTHER);
		}
	}
}
