/* Kinds of programs that do not train, or that do not launch like a framework's training loop. */
#include "test/steps/kinds.h"
#include "test/steps/network.h"

enum { STEPS = 60 };

/* Reads the result to the host, which ends the step. */
static void end_with_answer(struct program *p, uint32_t pause_us)
{
	program_read_back(p);
	program_end(p, END_STEP);
	program_pause(p, pause_us);
}

static void answer_request(struct program *p, const struct network *net, uint32_t thread)
{
	program_at(p, PHASE_OTHER, thread, 30);
	program_copy(p, WHAT_H2D);
	network_infer(p, net);
	end_with_answer(p, net->pause_us);
}

KIND(requests)
{
	struct network net;
	network_start(&net, p, size);
	for (int i = 0; i < STEPS; i++)
		answer_request(p, &net, THREAD_MAIN);
}

/* Decoding with a cache: the grids of the attention kernels grow every eight tokens. */
KIND(tokens)
{
	struct network net;
	struct kernels attention;
	network_start(&net, p, size);
	kernels_make(&attention, p, 3, 3);
	for (uint32_t i = 0; i < 100; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		launch_all(p, &net.before, 0);
		for (uint32_t k = 0; k < net.layers; k++) {
			launch_all(p, &net.layer, 0);
			launch_all(p, &attention, i / 8);
		}
		launch_all(p, &net.after, 0);
		end_with_answer(p, 40);
	}
}

/* Diffusion: a sample takes a number of denoising iterations with the same launches. */
KIND(samples)
{
	struct network net;
	struct kernels noise;
	network_start(&net, p, size);
	kernels_make(&noise, p, 4, 4);
	uint32_t iterations = program_between(p, 10, 30);
	for (int i = 0; i < 30; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 29);
		program_launch(p, 13, 0);
		for (uint32_t k = 0; k < iterations; k++) {
			program_at(p, PHASE_OTHER, THREAD_MAIN, 31);
			network_infer(p, &net);
			launch_all(p, &noise, 0);
		}
		end_with_answer(p, 1000);
	}
}

KIND(graph_replay)
{
	bool uploads = program_chance(p, 50), reads = program_chance(p, 50);
	for (int i = 0; i < STEPS + 60; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		if (uploads)
			program_copy(p, WHAT_H2D);
		program_graph(p, size);
		if (reads)
			program_read_back(p);
		program_end(p, END_STEP);
		program_pause(p, 50);
	}
}

/*
 * Either the forward and the backward pass are one graph each, or each layer has a graph for each
 * of them. The optimizer is launched without a graph.
 */
KIND(graph_and_launches)
{
	struct network net;
	network_start(&net, p, size);
	uint32_t graphs = program_chance(p, 50) ? 2 : 2 * net.layers;
	bool same = program_chance(p, 30);
	for (int i = 0; i < STEPS; i++) {
		program_at(p, PHASE_DATA, THREAD_MAIN, 30);
		program_copy(p, WHAT_H2D);
		program_at(p, PHASE_FORWARD, THREAD_MAIN, 31);
		for (uint32_t k = 0; k < graphs; k++)
			program_graph(p, same ? 0 : k);
		network_end_step(p, &net);
	}
}

/* Four eager steps, then a graph that replaces them. */
KIND(graph_after_eager)
{
	struct network net;
	network_start(&net, p, size);
	net.reads_loss = true;
	for (int i = 0; i < 4; i++) {
		network_step(p, &net);
		network_finish_step(p, &net, END_FREE);
	}
	for (int i = 0; i < STEPS + 40; i++) {
		program_at(p, PHASE_DATA, THREAD_MAIN, 30);
		program_copy(p, WHAT_H2D);
		program_copy(p, WHAT_H2D);
		program_at(p, PHASE_FORWARD, THREAD_MAIN, 31);
		program_graph(p, 0);
		network_finish_step(p, &net, END_STEP);
	}
}

static void load_batch(struct program *p)
{
	program_at(p, PHASE_DATA, THREAD_LOADER, 70);
	program_copy(p, WHAT_H2D);
	program_copy(p, WHAT_H2D);
}

/* A loader thread copies batches, one or two ahead of the step, when it has time. */
KIND(prefetch_thread)
{
	struct network net;
	network_start(&net, p, size);
	net.uploads = false;
	uint32_t ahead = 0;
	for (int i = 0; i < STEPS; i++) {
		while (ahead < 1 || (ahead < 2 && program_chance(p, 50))) {
			load_batch(p);
			ahead++;
		}
		ahead--;
		network_forward(p, &net);
		if (ahead < 2 && program_chance(p, 30)) {
			load_batch(p);
			ahead++;
		}
		network_backward(p, &net);
		network_end_step(p, &net);
	}
}

/* Each step runs on one thread of a pool, chosen in turn or at random. */
KIND(pool)
{
	struct network net;
	network_start(&net, p, size);
	uint32_t workers = program_between(p, 2, 4);
	bool in_turn = program_chance(p, 50);
	for (uint32_t i = 0; i < STEPS; i++)
		answer_request(p, &net,
			       THREAD_WORKER + (in_turn ? i % workers : program_below(p, workers)));
}

/* In each step the main thread gives a worker four equal jobs, and does the rest itself. */
KIND(worker_jobs)
{
	struct kernels prologue, job, epilogue;
	kernels_make(&prologue, p, 2 + size, 2 + size);
	kernels_make(&job, p, 4 + 4 * size, 3 + 3 * size);
	kernels_make(&epilogue, p, 3 + 2 * size, 3 + size);
	for (int i = 0; i < STEPS; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		launch_all(p, &prologue, 0);
		for (int k = 0; k < 4; k++) {
			program_at(p, PHASE_OTHER, THREAD_WORKER, 50);
			launch_all(p, &job, 0);
		}
		program_at(p, PHASE_OTHER, THREAD_MAIN, 31);
		launch_all(p, &epilogue, 0);
		program_wait(p, 200);
		program_end(p, END_STEP);
		program_pause(p, 50);
	}
}

/*
 * Pipeline parallelism (1F1B): forward and backward passes of micro-batches alternate, then the
 * optimizer follows.
 */
KIND(pipeline)
{
	struct network net;
	network_start(&net, p, size);
	uint32_t stages = program_between(p, 2, 4), batches = 2 * stages;
	for (int i = 0; i < STEPS; i++) {
		for (uint32_t k = 0; k < batches + stages; k++) {
			if (k < batches) {
				program_at(p, PHASE_FORWARD, THREAD_MAIN, 21);
				program_copy(p, WHAT_D2D);
				network_infer(p, &net);
			}
			if (k >= stages)
				network_backward(p, &net);
		}
		network_end_step(p, &net);
	}
}

/*
 * Chooses an order of two or three kernels that is not a repetition of a shorter order. Returns its
 * length.
 */
static uint32_t make_order(struct program *p, uint32_t size, uint32_t *order)
{
	static const uint32_t known[] = { 0, 1, 0, 1, 0, 1, 1 };
	uint32_t n = program_between(p, 5, 7 + 3 * size), letters = program_between(p, 2, 3);
	if (!size && program_chance(p, 30)) {
		for (uint32_t i = 0; i < 7; i++)
			order[i] = known[i];
		return 7;
	}
	for (bool whole = false; !whole;) {
		for (uint32_t i = 0; i < n; i++)
			order[i] = program_below(p, letters);
		whole = true;
		for (uint32_t period = 1; period < n && whole; period++) {
			uint32_t same = 0;
			for (uint32_t i = 0; i < n; i++)
				same += order[i] == order[(i + period) % n];
			whole = same < n;
		}
	}
	return n;
}

static void few_kernels(struct program *p, uint32_t size, bool waits)
{
	uint32_t order[32], n = make_order(p, size, order);
	for (int i = 0; i < 4 * STEPS; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		for (uint32_t k = 0; k < n; k++)
			program_launch(p, 600 + order[k], 8);
		if (waits)
			program_wait(p, 100);
		program_end(p, END_STEP);
		if (waits)
			program_pause(p, 20);
	}
}

KIND(few_kernels)
{
	few_kernels(p, size, true);
}

KIND(few_kernels_bare)
{
	few_kernels(p, size, false);
}

/* Two to four equal iterations and a few other kernels per step, as in C++. */
KIND(equal_inner)
{
	struct kernels inner, end;
	kernels_make(&inner, p, 3 + 4 * size + program_below(p, 3), 3 + 3 * size);
	kernels_make(&end, p, program_between(p, 1, 3), 3);
	uint32_t iterations = program_between(p, 2, 4);
	bool reads = program_chance(p, 50);
	for (int i = 0; i < 2 * STEPS; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		for (uint32_t k = 0; k < iterations; k++)
			launch_all(p, &inner, 0);
		launch_all(p, &end, 0);
		if (reads)
			program_read_back(p);
		program_end(p, END_STEP);
		program_pause(p, 100);
	}
}

/* One to three launches and a wait per step. */
KIND(tiny)
{
	for (int i = 0; i < 20 * STEPS; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		for (uint32_t k = 0; k <= size; k++)
			program_launch(p, 700 + k, 8);
		program_wait(p, 100);
		program_end(p, END_STEP);
		program_pause(p, 20);
	}
}

/*
 * A solver without copies. Each step launches one or two kernels until they converge, then one or
 * more that use the result, and then waits.
 */
KIND(converging)
{
	uint32_t n_inner = program_between(p, 1, 2), n_end = program_between(p, 1, 1 + size);
	for (int i = 0; i < 4 * STEPS; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		for (uint32_t k = program_between(p, 2, 6); k > 0; k--)
			for (uint32_t j = 0; j < n_inner; j++)
				program_launch(p, 710 + j, 8);
		for (uint32_t j = 0; j < n_end; j++)
			program_launch(p, 720 + j, 8);
		program_wait(p, 100);
		program_end(p, END_STEP);
		program_pause(p, 20);
	}
}

/*
 * Two streams, each with its own buffers. In each step, each stream copies input, works, and copies
 * the result; then the host waits for both.
 */
KIND(double_buffered)
{
	for (int i = 0; i < 4 * STEPS; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		for (uint32_t stream = 0; stream < 2; stream++) {
			program_copy(p, WHAT_H2D);
			for (uint32_t k = 0; k < 2 + 2 * size; k++)
				program_launch(p, 730 + 10 * stream + k, 8);
			program_copy(p, WHAT_D2H);
		}
		program_wait(p, 100);
		program_end(p, END_STEP);
	}
}

/*
 * A simulation. Each step launches some kernels, and then iterates until convergence, which the
 * host reads in each iteration.
 */
KIND(solver)
{
	struct kernels set, inner, end;
	kernels_make(&set, p, 6 + 4 * size, 5 + 3 * size);
	kernels_make(&inner, p, 3 + 2 * size, 3 + size);
	kernels_make(&end, p, 5 + 2 * size, 5 + size);
	for (int i = 0; i < STEPS; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		launch_all(p, &set, 0);
		for (uint32_t k = program_between(p, 4, 12); k > 0; k--) {
			program_at(p, PHASE_OTHER, THREAD_MAIN, 33);
			launch_all(p, &inner, 0);
			program_read_back(p);
		}
		program_at(p, PHASE_OTHER, THREAD_MAIN, 35);
		launch_all(p, &end, 0);
		program_end(p, END_STEP);
		program_pause(p, 200);
	}
}

/* A server. What a request launches between its embedding and its answer always differs. */
KIND(varied_requests)
{
	struct kernels pool, first;
	kernels_make(&first, p, 4, 4);
	kernels_make(&pool, p, 12 + 20 * size, 12 + 20 * size);
	for (int i = 0; i < 2 * STEPS; i++) {
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		program_copy(p, WHAT_H2D);
		launch_all(p, &first, 0);
		for (uint32_t k = program_between(p, 3, 30); k > 0; k--)
			program_launch(p, pool.at[program_below(p, pool.n)].kernel, 0);
		end_with_answer(p, 50);
	}
}

static void launch_layers(struct program *p, const struct network *net,
			  const struct kernels *attention, uint32_t rows)
{
	launch_all(p, &net->before, rows);
	for (uint32_t k = 0; k < net->layers; k++) {
		launch_all(p, &net->layer, rows);
		launch_all(p, attention, rows);
	}
	launch_all(p, &net->after, rows);
}

/*
 * A server that batches its requests (continuous batching). Each iteration takes a new request, of
 * any length, or continues with all running ones, so sizes vary. Most iterations have only in
 * common how the host copies and waits.
 */
KIND(continuous_batching)
{
	struct network net;
	struct kernels whole, cached;
	uint32_t running = 0, least = program_between(p, 2, 3);
	network_start(&net, p, size);
	kernels_make(&whole, p, 2, 2);
	kernels_make(&cached, p, 5, 5);
	for (int i = 0; i < 2 * STEPS; i++) {
		bool takes = !running || (running < 8 && program_chance(p, 20));
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		for (uint32_t k = least + !takes; k > 0; k--)
			program_copy(p, WHAT_H2D);
		launch_layers(p, &net, takes ? &whole : &cached,
			      takes ? program_between(p, 4, 40) : 100 + running);
		end_with_answer(p, 80);
		running += takes;
		running -= running && program_chance(p, running * 5);
	}
}

/*
 * Decoding without a cache. Each of a request's few tokens is a pass over all tokens before it. So
 * sizes grow from the prompt's length on, and each size occurs once in every request that is long
 * enough.
 */
KIND(growing_requests)
{
	struct network net;
	network_start(&net, p, size);
	uint32_t tokens = program_between(p, 5, 8), lengths = program_between(p, 4, 7);
	for (int i = 0; i < 2 * STEPS; i++) {
		uint32_t prompt = 4 + program_below(p, lengths);
		program_at(p, PHASE_OTHER, THREAD_MAIN, 30);
		program_copy(p, WHAT_H2D);
		for (uint32_t k = 0; k < tokens; k++)
			network_infer_more(p, &net, prompt + k);
		end_with_answer(p, 50);
	}
}

/* ---- Programs without steps ---- */

KIND(never_repeats)
{
	for (uint32_t i = 0; i < 1500u << size; i++)
		program_launch(p, 1000 + i, program_below(p, 50));
}

KIND(random_order)
{
	uint32_t n = 10u << (2 * size), threads = program_between(p, 1, 2);
	for (uint32_t i = 0; i < 6000; i++) {
		p->thread = program_below(p, threads);
		program_launch(p, program_below(p, n), 0);
		if (program_chance(p, 2))
			program_wait(p, 50);
	}
}

/* Parameters are copied one by one, for a server that then waits for its first request. */
KIND(uploads)
{
	for (uint32_t i = 0; i < 300u << size; i++) {
		program_copy(p, WHAT_H2D);
		if (program_chance(p, 5))
			program_wait(p, 20);
	}
}
