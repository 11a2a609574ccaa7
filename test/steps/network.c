#include "test/steps/network.h"

/* Lines of the user's loop from which the phases launch. */
enum { LINE_SET_UP = 5, LINE_DATA = 20, LINE_FORWARD, LINE_BACKWARD, LINE_OPTIMIZER, LINE_READ };

static uint32_t next_kernel(struct program *p)
{
	return 100 + program_below(p, 30000);
}

void kernels_make(struct kernels *list, struct program *p, uint32_t n, uint32_t pool)
{
	struct kernel of[120];
	list->n = n < 120 ? n : 120;
	pool = pool < 120 ? pool : 120;
	for (uint32_t i = 0; i < pool; i++)
		of[i] = (struct kernel){ (uint16_t)next_kernel(p), (uint16_t)program_below(p, 64) };
	for (uint32_t i = 0; i < list->n; i++)
		list->at[i] = i < pool ? of[i] : of[program_below(p, pool)];
}

void launch_all(struct program *p, const struct kernels *list, uint32_t grid_more)
{
	for (uint32_t i = 0; i < list->n; i++)
		program_launch(p, list->at[i].kernel, list->at[i].grid + grid_more);
}

void network_make(struct network *net, struct program *p, uint32_t size)
{
	static const uint32_t layers[] = { 2, 6, 12 }, layer_calls[] = { 3, 7, 12 };
	uint32_t calls = layer_calls[size] + program_below(p, 3);
	*net = (struct network){
		.layers = layers[size] + program_below(p, 2),
		.style = program_below(p, OPTIMIZER_STYLES),
		.backward_thread = program_chance(p, 75) ? THREAD_BACKWARD : THREAD_MAIN,
		.uploads = program_chance(p, 60),
		.zeroes = program_chance(p, 30),
		.reads_loss = program_chance(p, 50),
		.pause_us = program_between(p, 30, 300),
	};
	kernels_make(&net->before, p, program_between(p, 1, 4), 4);
	kernels_make(&net->layer, p, calls, calls * 2 / 3);
	kernels_make(&net->after, p, program_between(p, 2, 6), 5);
	kernels_make(&net->back_before, p, program_between(p, 2, 5), 4);
	kernels_make(&net->back_layer, p, calls + calls / 2, calls * 2 / 3);
	kernels_make(&net->back_after, p, program_between(p, 1, 3), 3);
	net->parameters = 2 * net->layers + 2;
	static const uint32_t updates[] = { 6, 1, 4 };
	kernels_make(&net->update, p, updates[net->style] + program_below(p, 3), 4);
}

void network_infer_more(struct program *p, const struct network *net, uint32_t more)
{
	launch_all(p, &net->before, more);
	for (uint32_t i = 0; i < net->layers; i++)
		launch_all(p, &net->layer, more);
	launch_all(p, &net->after, 0);
}

void network_infer(struct program *p, const struct network *net)
{
	network_infer_more(p, net, 0);
}

void network_forward(struct program *p, const struct network *net)
{
	program_at(p, PHASE_FORWARD, THREAD_MAIN, LINE_FORWARD);
	network_infer(p, net);
}

void network_backward(struct program *p, const struct network *net)
{
	static const uint32_t zero_kernel = 7;
	program_at(p, PHASE_BACKWARD, THREAD_MAIN, LINE_BACKWARD);
	for (uint32_t i = 0; net->zeroes && i < net->parameters; i++)
		program_launch(p, zero_kernel, i % 3);
	program_launch(p, zero_kernel + 1, 0);
	program_at(p, PHASE_BACKWARD, net->backward_thread, LINE_BACKWARD);
	launch_all(p, &net->back_before, 0);
	for (uint32_t i = 0; i < net->layers; i++)
		launch_all(p, &net->back_layer, 0);
	launch_all(p, &net->back_after, 0);
}

void network_optimizer(struct program *p, const struct network *net)
{
	uint32_t times = net->style == OPTIMIZER_PER_PARAMETER ? net->parameters : 1;
	program_at(p, PHASE_OPTIMIZER, THREAD_MAIN, LINE_OPTIMIZER);
	for (uint32_t i = 0; i < times; i++)
		launch_all(p, &net->update, i % 3);
}

static void set_up(struct program *p, const struct network *net)
{
	program_at(p, PHASE_OTHER, THREAD_MAIN, LINE_SET_UP);
	for (uint32_t i = 0; i < net->parameters; i++) {
		if (program_chance(p, 50))
			program_launch(p, 9, program_below(p, 4));
		program_copy(p, WHAT_H2D);
	}
	program_pause(p, 500);
	program_end(p, END_FREE);
}

void network_start(struct network *net, struct program *p, uint32_t size)
{
	network_make(net, p, size);
	set_up(p, net);
}

void network_gradients(struct program *p, const struct network *net)
{
	if (net->uploads) {
		program_at(p, PHASE_DATA, THREAD_MAIN, LINE_DATA);
		program_copy(p, WHAT_H2D);
	}
	network_forward(p, net);
	network_backward(p, net);
}

void network_step(struct program *p, const struct network *net)
{
	network_gradients(p, net);
	network_optimizer(p, net);
}

void network_finish_step(struct program *p, const struct network *net, uint32_t ends)
{
	if (net->reads_loss) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, LINE_READ);
		program_read_back(p);
	}
	program_end(p, ends);
	program_pause(p, net->pause_us);
}

void network_end_step(struct program *p, const struct network *net)
{
	network_optimizer(p, net);
	network_finish_step(p, net, END_STEP);
}
