/*
 * The same training step twice: as single launches, and captured into a graph that each step
 * replays. Tables of lines, operators, modules and phases must have the same GPU times.
 */
#include "core/analysis/summary.h"
#include "test/unit/made_stacks.h"
#include "test/unit/step_builder.h"

#include <cmocka.h>

#define CALL   "/site-packages/torch/nn/modules/module.py:Module._call_impl"
#define NET    "train.py:main@10", CALL, "m.py:Net.forward@3"
#define LINEAR "train.py:main@10", CALL, "m.py:Net.forward@4", CALL, "lin.py:Linear.forward@5"
#define BACK   "train.py:main@12", "/site-packages/torch/autograd/__init__.py:backward"
#define ENGINE "torch::autograd::Engine::thread_init", "torch::autograd::Engine::evaluate_function"
#define STEP   "train.py:main@13", "/site-packages/torch/optim/sgd.py:step"

enum { KERNEL_US = 20, STEP_US = 1000, REPLAYS = 2, CAPTURED_AT_US = 1 };

static struct site made_sites[MADE_FRAMES + 1];

/* ---- The functions of core/symbols/frames.c that made_stacks.h lacks ---- */

const struct site *frames_site_at(const struct frames *f, uint32_t site)
{
	(void)f;
	const struct frame *frame = site ? &made_frames[site - 1].frame : NULL;
	made_sites[site] = (struct site){ .file = "", .function = "" };
	if (frame)
		made_sites[site] = (struct site){ .file = frame->file,
						  .function = frame->function,
						  .line = frame->line,
						  .is_user = frame->kind == FRAME_KIND_PYTHON };
	return &made_sites[site];
}

uint32_t frames_n_sites(const struct frames *f)
{
	(void)f;
	return (uint32_t)made_n_frames;
}

uint32_t frames_site_of(struct frames *f, const struct frame *frame)
{
	(void)f;
	return (uint32_t)((const struct made_frame *)frame - made_frames) + 1;
}

/* The site has the line's number. */
uint32_t frames_site_in(struct frames *f, const struct frame *frame, uint32_t line)
{
	(void)f;
	(void)frame;
	return line;
}

bool frames_add_loop(struct frames *f, const struct frame *frame)
{
	(void)f;
	(void)frame;
	return false;
}

bool frames_is_in_loop(struct frames *f, const struct frame *frame)
{
	(void)f;
	(void)frame;
	return false;
}

bool frames_are_of_one_function(const struct frame *a, const struct frame *b)
{
	return !strcmp(a->file, b->file) && !strcmp(a->function, b->function);
}

bool frame_is_package_code(const struct frame *frame)
{
	(void)frame;
	return false;
}

const char *frames_diagnostic(const struct frames *f, size_t i)
{
	(void)f;
	(void)i;
	return NULL;
}

/* ---- The program ---- */

struct run {
	struct step_builder b;
	struct analyzer a;
	struct findings f;
};

struct launch {
	uint32_t stack, tid;
};

enum { LAUNCHES = 9 };

static struct launch launches[LAUNCHES];
static uint32_t replay_stack, no_stack;

static int set_up(void **state)
{
	(void)state;
	made_forget();
	const struct launch of_step[LAUNCHES] = {
		{ STACK(LINEAR, "at::_ops::linear", "at::_ops::addmm"), 1 },
		{ STACK(NET, "at::_ops::relu"), 1 },
		{ STACK("train.py:main@11", "at::_ops::mse_loss"), 1 },
		{ STACK(BACK, "at::_ops::ones_like"), 1 },
		{ STACK(ENGINE, "node:MseLossBackward0", "at::_ops::mse_loss_backward"), 2 },
		{ STACK(ENGINE, "node:ReluBackward0", "at::_ops::threshold_backward"), 2 },
		{ STACK(ENGINE, "node:AddmmBackward0", "at::_ops::mm"), 2 },
		{ STACK(STEP, "at::_ops::_foreach_add_"), 1 },
		{ STACK(STEP, "at::_ops::_foreach_add_"), 1 },
	};
	memcpy(launches, of_step, sizeof(launches));
	replay_stack = STACK("train.py:main@40", "/site-packages/torch/cuda/graphs.py:replay");
	no_stack = 0;
	return 0;
}

static struct run *start(void)
{
	struct run *r = mem_zero(sizeof(*r));
	analyzer_start(&r->a, &r->b.tables, made_some);
	return r;
}

static void finish(struct run *r)
{
	findings_free(&r->f);
	analyzer_free(&r->a);
	sb_free(&r->b);
	free(r);
}

static struct sb_call launch_at(size_t i, double at_us)
{
	return (struct sb_call){ .name = "cudaLaunchKernel",
				 .category = CAT_LAUNCH,
				 .begin_us = at_us,
				 .end_us = at_us + 3,
				 .stack = launches[i].stack,
				 .tid = launches[i].tid };
}

static struct sb_work work_at(size_t i, double at_us)
{
	static const char *const names[LAUNCHES] = { "gemm",	  "relu",     "mse",
						     "fill",	  "mse_back", "relu_back",
						     "gemm_back", "add",      "add" };
	return (struct sb_work){ .name = names[i],
				 .begin_us = at_us,
				 .end_us = at_us + KERNEL_US + (double)i,
				 .stream = 7 };
}

static struct run *run_eager(void)
{
	struct run *r = start();
	for (int step = 0; step < REPLAYS; step++) {
		double at = 10000 + step * STEP_US;
		sb_step(&r->b, (uint64_t)step, at, at + STEP_US);
		for (size_t i = 0; i < LAUNCHES; i++) {
			struct sb_work w = work_at(i, at + 30 + 40 * (double)i);
			w.call = sb_call(&r->b, launch_at(i, at + 20 + 40 * (double)i));
			sb_work(&r->b, w);
		}
		sb_end(&r->b, &r->a);
	}
	summary_fill(&r->f, &r->a.timeline);
	return r;
}

/* Each step launches the graph `times` times. `n_known`: for as many kernels the captured call is
 * known. */
static struct run *run_graph(int times, size_t n_known)
{
	struct run *r = start();
	for (int step = 0; step < REPLAYS; step++) {
		double at = 10000 + step * STEP_US;
		uint32_t origin[LAUNCHES] = { 0 };
		sb_step(&r->b, (uint64_t)step, at, at + STEP_US);
		for (size_t i = 0; i < n_known; i++)
			origin[i] =
				sb_captured(&r->b, launch_at(i, CAPTURED_AT_US + 40 * (double)i));
		for (int k = 0; k < times; k++, at += 500) {
			uint32_t call = sb_call(&r->b, (struct sb_call){ .name = "cudaGraphLaunch",
									 .category = CAT_GRAPH,
									 .begin_us = at + 20,
									 .end_us = at + 30,
									 .stack = replay_stack });
			for (size_t i = 0; i < LAUNCHES; i++) {
				struct sb_work w = work_at(i, at + 40 + 40 * (double)i);
				w.call = call;
				w.graph = 5;
				w.origin = origin[i];
				sb_work(&r->b, w);
			}
		}
		sb_end(&r->b, &r->a);
	}
	summary_fill(&r->f, &r->a.timeline);
	return r;
}

/* ---- Tables ---- */

static const struct finding_line *line_of(const struct run *r, const char *file, uint32_t line)
{
	for (size_t i = 0; i < r->f.lines.n; i++) {
		const struct site *s = frames_site_at(NULL, r->f.lines.at[i].site);
		if (s->line == line && !strcmp(s->file, file))
			return &r->f.lines.at[i];
	}
	fail_msg("no line %s:%u", file, line);
	return NULL;
}

static void expect_same_lines(const struct run *eager, const struct run *graph, double times)
{
	assert_int_equal(graph->f.lines.n, eager->f.lines.n + 1);
	for (size_t i = 0; i < eager->f.lines.n; i++) {
		const struct finding_line *x = &eager->f.lines.at[i];
		const struct site *s = frames_site_at(NULL, x->site);
		const struct finding_line *y = line_of(graph, s->file, s->line);
		assert_float_equal(y->gpu_ms, x->gpu_ms * times, 1e-9);
		assert_float_equal(y->graph_gpu_ms, x->gpu_ms * times, 1e-9);
		assert_float_equal(y->backward_gpu_ms, x->backward_gpu_ms * times, 1e-9);
		assert_string_equal(y->module, x->module);
		assert_float_equal(x->graph_gpu_ms, 0, 1e-9);
		assert_float_equal(y->host_ms, 0, 1e-9);
		assert_float_equal(y->launches, 0, 1e-9);
	}
	assert_float_equal(graph->f.tied_gpu_ms, eager->f.tied_gpu_ms * times, 1e-9);
	assert_float_equal(graph->f.backward_gpu_ms, eager->f.backward_gpu_ms * times, 1e-9);
}

static void lines(void **state)
{
	(void)state;
	struct run *eager = run_eager(), *graph = run_graph(2, LAUNCHES);
	expect_same_lines(eager, graph, 2);
	const struct finding_line *replay = line_of(graph, "train.py", 40);
	assert_float_equal(replay->launches, 2, 1e-9);
	assert_float_equal(replay->gpu_ms, 0, 1e-9);
	assert_true(replay->host_ms > 0);
	assert_true(line_of(eager, "m.py", 3)->backward_gpu_ms > 0);
	finish(eager);
	finish(graph);
}

static void operators(void **state)
{
	(void)state;
	struct run *eager = run_eager(), *graph = run_graph(2, LAUNCHES);
	assert_int_equal(graph->f.operators.n, eager->f.operators.n);
	for (size_t i = 0; i < eager->f.operators.n; i++) {
		const struct finding_operator *x = &eager->f.operators.at[i],
					      *y = &graph->f.operators.at[i];
		assert_string_equal(y->name, x->name);
		assert_float_equal(y->gpu_ms, 2 * x->gpu_ms, 1e-9);
		assert_float_equal(y->self_gpu_ms, 2 * x->self_gpu_ms, 1e-9);
		assert_float_equal(y->graph_gpu_ms, 2 * x->self_gpu_ms, 1e-9);
		assert_float_equal(y->per_step, 2 * x->per_step, 1e-9);
		assert_float_equal(x->graph_gpu_ms, 0, 1e-9);
		assert_float_equal(y->host_ms, 0, 1e-9);
	}
	finish(eager);
	finish(graph);
}

static void modules(void **state)
{
	(void)state;
	struct run *eager = run_eager(), *graph = run_graph(1, LAUNCHES);
	assert_int_equal(eager->f.modules.n, 2);
	assert_int_equal(graph->f.modules.n, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct finding_module *x = &eager->f.modules.at[i],
					    *y = &graph->f.modules.at[i];
		assert_string_equal(y->name, x->name);
		assert_true(x->backward_gpu_ms > 0);
		assert_float_equal(y->gpu_ms, x->gpu_ms, 1e-9);
		assert_float_equal(y->backward_gpu_ms, x->backward_gpu_ms, 1e-9);
		assert_float_equal(y->graph_gpu_ms, x->gpu_ms + x->backward_gpu_ms, 1e-9);
		assert_float_equal(y->per_step, x->per_step, 1e-9);
		assert_float_equal(y->host_ms, 0, 1e-9);
	}
	finish(eager);
	finish(graph);
}

static double phase_ms(const struct run *r, const char *name)
{
	for (size_t i = 0; i < r->f.phases.n; i++)
		if (!strcmp(r->f.phases.at[i].name, name))
			return r->f.phases.at[i].gpu_ms;
	return 0;
}

static void phases_and_kernels(void **state)
{
	(void)state;
	struct run *eager = run_eager(), *graph = run_graph(1, LAUNCHES);
	uint64_t *x = eager->a.timeline.phase_sums.gpu_ns, *y = graph->a.timeline.phase_sums.gpu_ns;
	assert_true(phase_sums_are_right(&graph->a.timeline.phase_sums));
	for (size_t i = 0; i < PHASE_PARTS_N; i++) {
		assert_int_equal(y[i], x[i]);
		assert_int_equal(graph->a.timeline.phase_sums.graph_ns[i], y[i]);
		assert_int_equal(eager->a.timeline.phase_sums.graph_ns[i], 0);
	}
	for (size_t i = 0; i < graph->f.phases.n; i++)
		assert_float_equal(graph->f.phases.at[i].graph_gpu_ms, graph->f.phases.at[i].gpu_ms,
				   1e-9);
	assert_true(x[PART_MODULE] > 0 && x[PART_FUNCTIONAL] > 0 && x[PART_OPTIMIZER] > 0 &&
		    x[PART_BACKWARD] > 0);
	assert_true(graph->a.timeline.phase_sums.has_phases);
	for (size_t i = 0; i < eager->f.phases.n; i++)
		assert_float_equal(phase_ms(graph, eager->f.phases.at[i].name),
				   eager->f.phases.at[i].gpu_ms, 1e-9);
	assert_true(eager->f.phases.n >= 3);
	assert_int_equal(graph->f.kernels.n, eager->f.kernels.n);
	for (size_t i = 0; i < eager->f.kernels.n; i++) {
		assert_float_equal(graph->f.kernels.at[i].graph_gpu_ms,
				   eager->f.kernels.at[i].gpu_ms, 1e-9);
		assert_float_equal(eager->f.kernels.at[i].graph_gpu_ms, 0, 1e-9);
	}
	finish(eager);
	finish(graph);
}

/* ---- Table of graphs ---- */

static void launch_graph(struct run *r, double at, uint32_t graph, size_t n, const uint32_t *origin)
{
	uint32_t call = sb_call(&r->b, (struct sb_call){ .name = "cudaGraphLaunch",
							 .category = CAT_GRAPH,
							 .begin_us = at,
							 .end_us = at + 10,
							 .stack = replay_stack });
	for (size_t i = 0; i < n; i++)
		sb_work(&r->b, (struct sb_work){ .name = "node",
						 .begin_us = at + 20 + 30 * (double)i,
						 .end_us = at + 40 + 30 * (double)i,
						 .call = call,
						 .stream = 7,
						 .graph = graph,
						 .origin = origin[i] });
}

/* Checks the groups of the server's steps. */
static void expect_groups(const struct findings *f)
{
	const struct finding_graph_steps *decode = &f->graph_steps.at[0],
					 *prefill = &f->graph_steps.at[1];
	assert_int_equal(f->graph_steps.n, 2);
	assert_int_equal(decode->n_steps, 3);
	assert_int_equal(decode->n_graphs, 1);
	assert_int_equal(f->step_graphs.at[decode->first_graph], 8);
	assert_int_equal(decode->least, 2);
	assert_int_equal(decode->most, 2);
	assert_float_equal(decode->step_ms, 1, 1e-6);
	assert_int_equal(prefill->n_steps, 1);
	assert_int_equal(f->step_graphs.at[prefill->first_graph], 5);
	assert_int_equal(prefill->most, 1);
	assert_float_equal(prefill->step_ms, 0.9, 1e-6);
}

/* A server: one step of prefill, three steps of decoding, each of which launches its graph twice.
 * Prefill was captured by a function of its own, with another module. */
static void graphs_of_a_server(void **state)
{
	(void)state;
	struct run *r = start();
	const uint32_t prefill[] = { STACK("serve.py:main@5", "serve.py:capture_prefill@20", CALL,
					   "m.py:Prefill.forward@3"),
				     STACK("serve.py:main@5", "serve.py:capture_prefill@20", CALL,
					   "m.py:Head.forward@4") },
		       decode[] = { STACK("serve.py:main@6", "serve.py:capture@30", CALL,
					  "m.py:Net.forward@3"),
				    STACK("serve.py:main@6", "serve.py:capture@30", CALL,
					  "m.py:Net.forward@4", CALL, "lin.py:Linear.forward@5"),
				    STACK(ENGINE, "at::_ops::mm") };
	for (uint32_t step = 0; step < 4; step++) {
		double at = 10000 + 1000 * step, end = at + (step ? 1000 : 900);
		const uint32_t *stacks = step ? decode : prefill;
		uint32_t origin[3];
		size_t n = step ? 3 : 2;
		sb_step(&r->b, step, at, end);
		for (size_t i = 0; i < n; i++)
			origin[i] = sb_captured(&r->b, (struct sb_call){ .name = "cudaLaunchKernel",
									 .category = CAT_LAUNCH,
									 .begin_us = (double)i,
									 .end_us = (double)i + 0.5,
									 .stack = stacks[i] });
		for (int k = 0; k < (step ? 2 : 1); k++)
			launch_graph(r, at + 200 * k, step ? 8 : 5, n, origin);
		sb_end(&r->b, &r->a);
	}
	summary_fill(&r->f, &r->a.timeline);
	assert_int_equal(r->f.graphs.n, 2);
	const struct finding_graph *d = &r->f.graphs.at[0], *p = &r->f.graphs.at[1];
	assert_int_equal(d->graph, 8);
	assert_string_equal(d->captured->function, "Net.forward");
	assert_int_equal(d->captured->line, 3);
	assert_string_equal(d->module, "Net");
	assert_float_equal(d->per_step, 1.5, 1e-9);
	assert_int_equal(d->nodes, 3);
	assert_int_equal(d->n_steps, 3);
	assert_float_equal(d->gpu_ms, 0.06, 1e-9);
	assert_float_equal(d->idle_ms, 0.02, 1e-9);
	assert_float_equal(d->step_ms, 1, 1e-6);
	assert_int_equal(frames_site_at(NULL, d->launch_site)->line, 40);
	assert_string_equal(p->captured->function, "capture_prefill");
	assert_int_equal(p->captured->line, 20);
	assert_string_equal(p->module, "");
	assert_int_equal(p->n_steps, 1);
	assert_float_equal(p->per_step, 0.25, 1e-9);
	assert_float_equal(p->step_ms, 0.9, 1e-6);
	assert_float_equal(d->interval_ms, 0.2, 1e-6);
	assert_float_equal(p->interval_ms, 0, 1e-9);
	expect_groups(&r->f);
	finish(r);
}

/* Adds a step that launches the graphs; 0: a launch whose work is not known. */
static void add_graph_step(struct run *r, uint32_t number, const uint32_t *graphs, size_t n)
{
	double at = 10000 + 1000 * number;
	sb_step(&r->b, number, at, at + 1000);
	for (size_t i = 0; i < n; i++)
		launch_graph(r, at + 200 * (double)i, graphs[i], graphs[i] != 0,
			     (const uint32_t[]){ 0 });
	sb_launch(&r->b, at + 700, at + 710, at + 720, 0);
	sb_end(&r->b, &r->a);
}

/* Only the set of graphs matters. */
static void steps_by_their_graphs(void **state)
{
	(void)state;
	struct run *r = start();
	add_graph_step(r, 0, (const uint32_t[]){ 5, 8, 5 }, 3);
	add_graph_step(r, 1, (const uint32_t[]){ 8, 5 }, 2);
	add_graph_step(r, 2, (const uint32_t[]){ 5 }, 1);
	add_graph_step(r, 3, (const uint32_t[]){ 5, 0 }, 2);
	add_graph_step(r, 4, NULL, 0);
	summary_fill(&r->f, &r->a.timeline);
	assert_int_equal(r->f.graph_steps.n, 3);
	const struct finding_graph_steps *g = r->f.graph_steps.at;
	assert_int_equal(g[0].n_steps, 2);
	assert_int_equal(g[0].n_graphs, 2);
	assert_int_equal(r->f.step_graphs.at[g[0].first_graph], 5);
	assert_int_equal(r->f.step_graphs.at[g[0].first_graph + 1], 8);
	assert_int_equal(g[0].least, 2);
	assert_int_equal(g[0].most, 3);
	assert_int_equal(g[1].n_steps + g[2].n_steps, 2);
	assert_int_equal(g[1].n_graphs + g[2].n_graphs, 1);
	assert_int_equal(g[1].most + g[2].most, 1);
	finish(r);
}

/* Kernels whose captured call is unknown, or has no stack, count for the line that launches the
 * graph. */
static void without_a_captured_line(void **state)
{
	(void)state;
	struct run *none = run_graph(1, 0);
	double sum_ms = line_of(none, "train.py", 40)->gpu_ms;
	assert_int_equal(none->f.lines.n, 1);
	assert_float_equal(line_of(none, "train.py", 40)->graph_gpu_ms, sum_ms, 1e-9);
	struct run *some = run_graph(1, 2);
	double known_ms = line_of(some, "lin.py", 5)->gpu_ms + line_of(some, "m.py", 3)->gpu_ms;
	assert_float_equal(known_ms, (KERNEL_US + KERNEL_US + 1) / 1e3, 1e-9);
	assert_float_equal(line_of(some, "train.py", 40)->gpu_ms, sum_ms - known_ms, 1e-9);
	for (size_t i = 0; i < LAUNCHES; i++)
		launches[i].stack = no_stack;
	struct run *without = run_graph(1, LAUNCHES);
	assert_float_equal(line_of(without, "train.py", 40)->gpu_ms, sum_ms, 1e-9);
	finish(none);
	finish(some);
	finish(without);
}

/*
 * Two graphs of which only the first has a user's call within backward(). The calls of autograd's
 * threads in the second one get the line that launches it.
 */
static void lines_of_the_autograd_threads(void **state)
{
	(void)state;
	struct run *r = start();
	const uint32_t stacks[] = { STACK(BACK, "at::_ops::ones_like"),
				    STACK(ENGINE, "at::_ops::mm"), STACK(ENGINE, "at::_ops::sum") };
	uint32_t origin[3];
	sb_step(&r->b, 1, 10000, 11000);
	for (size_t i = 0; i < 3; i++)
		origin[i] = sb_captured(&r->b, (struct sb_call){ .name = "cudaLaunchKernel",
								 .category = CAT_LAUNCH,
								 .begin_us = (double)i,
								 .end_us = (double)i + 0.5,
								 .stack = stacks[i] });
	launch_graph(r, 10000, 5, 2, origin);
	launch_graph(r, 10200, 6, 1, origin + 2);
	sb_end(&r->b, &r->a);
	summary_fill(&r->f, &r->a.timeline);
	assert_float_equal(line_of(r, "train.py", 12)->gpu_ms, 0.04, 1e-9);
	assert_float_equal(line_of(r, "train.py", 40)->gpu_ms, 0.02, 1e-9);
	finish(r);
}

/* The graph has two products: one is a memset and a kernel, the other one a kernel. Each of the two
 * launches runs both. */
static void products_of_libraries(void **state)
{
	(void)state;
	struct run *r = start();
	const uint32_t nodes[] = { STACK(LINEAR, "at::_ops::addmm"),
				   STACK(LINEAR, "at::_ops::addmm"), STACK(NET, "at::_ops::mm"),
				   STACK(NET, "at::_ops::relu") };
	uint32_t origin[4];
	sb_step(&r->b, 1, 10000, 11000);
	for (size_t i = 0; i < 4; i++)
		origin[i] = sb_captured(&r->b, (struct sb_call){ .name = "cudaLaunchKernel",
								 .category = CAT_LAUNCH,
								 .begin_us = (double)i,
								 .end_us = (double)i + 0.5,
								 .stack = nodes[i] });
	for (uint32_t i = 1; i <= 2; i++)
		vec_push(&r->b.m.products,
			 (struct model_library){
				 .facts = FACTS_GEMM, .m = 10, .n = 10, .k = 10 * i, .batch = 1 });
	vec_push(&r->b.m.product_of, 1);
	vec_push(&r->b.m.product_of, 1);
	vec_push(&r->b.m.product_of, 2);
	launch_graph(r, 10000, 5, 4, origin);
	launch_graph(r, 10300, 5, 4, origin);
	sb_end(&r->b, &r->a);
	summary_fill(&r->f, &r->a.timeline);
	const struct finding_line *linear = line_of(r, "lin.py", 5), *net = line_of(r, "m.py", 3);
	assert_float_equal(linear->arithmetic.flops, 2 * 2000, 1e-9);
	assert_float_equal(linear->arithmetic.tflops, 2000 / 40e-6 / 1e12, 1e-9);
	assert_float_equal(net->arithmetic.flops, 2 * 4000, 1e-9);
	assert_float_equal(net->arithmetic.tflops, 4000 / 20e-6 / 1e12, 1e-9);
	finish(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lines, set_up),
		cmocka_unit_test_setup(operators, set_up),
		cmocka_unit_test_setup(modules, set_up),
		cmocka_unit_test_setup(phases_and_kernels, set_up),
		cmocka_unit_test_setup(without_a_captured_line, set_up),
		cmocka_unit_test_setup(lines_of_the_autograd_threads, set_up),
		cmocka_unit_test_setup(products_of_libraries, set_up),
		cmocka_unit_test_setup(graphs_of_a_server, set_up),
		cmocka_unit_test_setup(steps_by_their_graphs, set_up),
	};
	return cmocka_run_group_tests_name("captured", tests, NULL, NULL);
}
