/*
 * Which phase a stack belongs to, and how a step is divided among the phases of its calls. Times
 * are microseconds.
 */
#include "core/analysis/phases.h"
#include "test/unit/made_stacks.h"

/* As a user's file calls them: the outermost frames of any stack. */
#define USER	"train.py:<module>", "train.py:main"
#define SITE	"/usr/lib/python3.11/site-packages/"
#define CALL	SITE "torch/nn/modules/module.py:Module._call_impl"
#define MODEL	USER, CALL, "train.py:Net.forward", "at::_ops::linear"
#define STEP	USER, SITE "torch/optim/optimizer.py:Optimizer.profile_hook_step.<locals>.wrapper"
#define LBFGS	STEP, SITE "torch/optim/lbfgs.py:LBFGS.step", CONTEXT
#define CONTEXT SITE "torch/utils/_contextlib.py:context_decorator.<locals>.decorate_context"
#define ENGINE	"torch::autograd::Engine::thread_main", "torch::autograd::Engine::evaluate_function"
#define BACK	USER, SITE "torch/_tensor.py:Tensor.backward"
#define LOADER	SITE "torch/utils/data/dataloader.py:_BaseDataLoaderIter.__next__"

static struct model_step step;
static struct phases phases;

static int begin(void **state)
{
	(void)state;
	made_forget();
	step.end_ns = 1000000;
	return 0;
}

static int end(void **state)
{
	(void)state;
	model_free(&step);
	memset(&step, 0, sizeof(step));
	phases_free(&phases);
	memset(&phases, 0, sizeof(phases));
	return 0;
}

/* ---- Stacks ---- */

static void expect_part(uint32_t stack, enum phase_part part)
{
	struct phase_stack found = phase_rules_stack(made_some, stack);
	if (found.part != part)
		fail_msg("stack %u: part %d instead of %d", stack, found.part, part);
}

static void plain_stacks(void **state)
{
	(void)state;
	expect_part(STACK(MODEL), PART_MODULE);
	expect_part(STACK(STEP, "at::_ops::_foreach_add_"), PART_OPTIMIZER);
	expect_part(STACK(USER, SITE "apex/optimizers/fused_adam.py:FusedAdam.step"),
		    PART_OPTIMIZER);
	expect_part(STACK(BACK, "at::_ops::ones_like"), PART_BACKWARD);
	expect_part(STACK(ENGINE, "at::_ops::mm"), PART_BACKWARD);
	expect_part(STACK(USER, LOADER, "data.py:Images.__getitem__", "at::_ops::to"), PART_LOADER);
	expect_part(STACK(USER, SITE "torch/nn/utils/clip_grad.py:clip_grad_norm_"), PART_CLIP);
	expect_part(STACK(USER, SITE "torch/amp/grad_scaler.py:GradScaler.step",
			  SITE "torch/amp/grad_scaler.py:GradScaler.unscale_"),
		    PART_SCALER);
	expect_part(STACK(USER, SITE "torch/amp/grad_scaler.py:GradScaler.scale"), PART_FUNCTIONAL);
	expect_part(STACK(USER, SITE "torch/optim/optimizer.py:Optimizer.zero_grad"),
		    PART_ZERO_GRAD);
	expect_part(STACK(USER, SITE "torch/optim/lr_scheduler.py:StepLR.step"), PART_SCHEDULER);
	expect_part(STACK(USER, SITE "torch/serialization.py:save",
			  SITE "torch/serialization.py:_save", SITE "torch/storage.py:cpu",
			  "at::_ops::copy_"),
		    PART_FILE);
	expect_part(STACK(USER, "at::_ops::mul"), PART_USER);
	expect_part(STACK(USER, "cudaMalloc"), PART_NONE);
}

/*
 * Whoever keeps it, the average of the weights belongs to the optimizer; the class that keeps it is
 * a module, too.
 */
static void averages_of_the_weights(void **state)
{
	(void)state;
	expect_part(STACK(USER, SITE "torch/optim/swa_utils.py:AveragedModel.update_parameters"),
		    PART_AVERAGE);
	expect_part(STACK(USER, SITE "torch/utils/_contextlib.py:decorate_context",
			  SITE "diffusers/training_utils.py:EMAModel.step", "at::_ops::sub_"),
		    PART_AVERAGE);
	expect_part(STACK(USER, SITE "ema_pytorch/ema_pytorch.py:EMA.update",
			  SITE "ema_pytorch/ema_pytorch.py:EMA.update_moving_average"),
		    PART_AVERAGE);
	expect_part(STACK(USER, SITE "timm/utils/model_ema.py:ModelEmaV3.update",
			  SITE "timm/utils/model_ema.py:ModelEmaV3.apply_update_"),
		    PART_AVERAGE);
	expect_part(STACK(USER, SITE "torch_ema/ema.py:ExponentialMovingAverage.update"),
		    PART_AVERAGE);
	expect_part(STACK(USER, CALL, SITE "timm/utils/model_ema.py:ModelEmaV3.forward"),
		    PART_MODULE);
}

/* What the user wrote is recognized by its name, unless it is a module's pass. */
static void averages_and_metrics_of_the_user(void **state)
{
	(void)state;
	expect_part(STACK(USER, "train.py:EMA.update", "at::_ops::lerp_"), PART_AVERAGE);
	expect_part(STACK(USER, "train.py:ModelEma.step", "at::_ops::mul_"), PART_AVERAGE);
	expect_part(STACK(USER, "train.py:update_ema", "at::_ops::mul_"), PART_AVERAGE);
	expect_part(STACK(USER, "train.py:schema", "at::_ops::mul_"), PART_USER);
	expect_part(STACK(USER, "train.py:Emanuel.run", "at::_ops::mul_"), PART_USER);
	expect_part(STACK(USER, "train.py:log_metrics", "at::_ops::sum"), PART_METRIC);
	expect_part(STACK(USER, "train.py:AUCMetric.add", "at::_ops::sum"), PART_METRIC);
	expect_part(STACK(USER, "train.py:Accuracy.update", "at::_ops::sum"), PART_METRIC);
	expect_part(STACK(USER, "train.py:symmetric", "at::_ops::sum"), PART_USER);
	expect_part(STACK(USER, CALL, "train.py:MetricHead.forward", "at::_ops::mm"), PART_MODULE);
	expect_part(STACK(USER, CALL, "train.py:Net.forward", "train.py:Codebook.ema_update"),
		    PART_MODULE);
	expect_part(STACK(USER, SITE "torchmetrics/metric.py:Metric.update",
			  SITE "torch/nn/functional.py:softmax"),
		    PART_METRIC);
	expect_part(STACK(USER, SITE "lightning/fabric/utilities/apply_func.py:"
				     "move_data_to_device.<locals>.batch_to"),
		    PART_TO_DEVICE);
	expect_part(STACK(USER,
			  SITE "lightning/fabric/utilities/apply_func.py:"
			       "convert_tensors_to_scalars.<locals>.to_item",
			  "at::_ops::item"),
		    PART_USER);
}

/* The scheduler wraps the optimizer's step; a step may be within GradScaler's. */
static void steps_in_wrappers(void **state)
{
	(void)state;
	expect_part(STACK(USER, SITE "torch/optim/lr_scheduler.py:wrapper",
			  SITE "torch/optim/optimizer.py:wrapper", SITE "torch/optim/adam.py:step"),
		    PART_OPTIMIZER);
	expect_part(STACK(USER, SITE "torch/amp/grad_scaler.py:GradScaler.step",
			  SITE "torch/optim/optimizer.py:Optimizer._use_grad"),
		    PART_OPTIMIZER);
}

static void passes_within_others(void **state)
{
	(void)state;
	/* L-BFGS, Lightning: forward and backward in a closure of the step */
	expect_part(STACK(STEP, "train.py:closure", CALL, "train.py:Net.forward"), PART_MODULE);
	expect_part(STACK(STEP, "train.py:closure", SITE "torch/_tensor.py:backward"),
		    PART_BACKWARD);
	/*
	 * what the closure computes itself, such as the loss, is the user's; what an optimizer of
	 * the user's own does is not
	 */
	expect_part(STACK(LBFGS, "train.py:closure", "at::_ops::mean"), PART_USER);
	expect_part(STACK(LBFGS, "at::_ops::dot"), PART_OPTIMIZER);
	expect_part(STACK(STEP, "train.py:Own.step", "at::_ops::mul"), PART_OPTIMIZER);
	/* checkpoint: modules within the backward pass, on either kind of thread */
	expect_part(STACK(ENGINE, SITE "torch/utils/checkpoint.py:recompute_fn", CALL,
			  "m.py:B.forward"),
		    PART_RECOMPUTE);
	expect_part(STACK(BACK, SITE "torch/utils/checkpoint.py:unpack", CALL), PART_RECOMPUTE);
	/* a Function's own backward() that uses functional operators */
	expect_part(STACK(ENGINE, "m.py:F.backward", SITE "torch/nn/functional.py:conv1d"),
		    PART_BACKWARD);
	/*
	 * transforms that are modules; a gradient within a forward pass; an optimizer within a hook
	 * of the backward pass
	 */
	expect_part(STACK(USER, LOADER, "data.py:Images.__getitem__", CALL), PART_LOADER);
	expect_part(STACK(USER, CALL, "m.py:Force.forward", SITE "torch/autograd/__init__.py:grad"),
		    PART_BACKWARD);
	expect_part(STACK(ENGINE, "train.py:hook", SITE "torch/optim/optimizer.py:wrapper"),
		    PART_OPTIMIZER);
	/* a graph tells only where nothing else does */
	expect_part(STACK(USER, SITE "torch/cuda/graphs.py:CUDAGraph.replay"), PART_GRAPH);
	expect_part(STACK(USER, CALL, SITE "torch/cuda/graphs.py:CUDAGraph.replay"), PART_MODULE);
}

/* What the engine reads between nodes is for anomaly detection; a hook's reads are the user's. */
static void anomaly_detection(void **state)
{
	(void)state;
#define IS_ANOMALY(...) (stack_about(made_some, STACK(__VA_ARGS__)) & ABOUT_ANOMALY)
	assert_true(IS_ANOMALY(ENGINE, "at::_ops::isnan", "at::_ops::ne"));
	assert_true(IS_ANOMALY(ENGINE, "at::_ops::item", "at::_ops::_local_scalar_dense"));
	assert_true(IS_ANOMALY(BACK, "torch::autograd::Engine::evaluate_function",
			       "at::_ops::_is_any_true", "at::_ops::any"));
	assert_false(IS_ANOMALY(ENGINE, "at::_ops::add"));
	assert_false(IS_ANOMALY(ENGINE, "torch::autograd::Node::operator()", "at::_ops::ne"));
	assert_false(IS_ANOMALY(ENGINE, "train.py:check", "at::_ops::isnan"));
	assert_false(IS_ANOMALY(USER, "at::_ops::isnan"));
#undef IS_ANOMALY
}

static void names_of_others(void **state)
{
	(void)state;
	expect_part(STACK(USER, "/home/me/mytorch/optim/optimizer.py:wrapper"), PART_NONE);
	expect_part(STACK(USER, "/home/me/loader/dataloader.py:__next__"), PART_NONE);
	expect_part(STACK(USER, "optimizer.py:step", "at::_ops::add_"), PART_USER);
}

static void native_frames_alone(void **state)
{
	(void)state;
	expect_part(STACK("main", "torch::nn::LinearImpl::forward", "at::_ops::linear"),
		    PART_MODULE);
	expect_part(STACK("main", "torch::optim::Adam::step", "at::_ops::add_"), PART_OPTIMIZER);
	expect_part(STACK("main", "torch::autograd::Engine::execute", "at::_ops::mm"),
		    PART_BACKWARD);
	uint32_t foreach = STACK("main", "at::_ops::_foreach_addcdiv_"),
		 linear = STACK("main", "at::_ops::linear");
	expect_part(foreach, PART_OPTIMIZER);
	expect_part(linear, PART_FUNCTIONAL);
	assert_false(phase_rules_stack(made_some, linear).is_certain);
	expect_part(STACK("main", "step", "cudaLaunchKernel"), PART_NONE);
}

/* ---- Steps ---- */

static uint32_t call(uint32_t tid, double begin_us, double end_us, uint32_t stack)
{
	struct model_thread *t = step.threads.n ? &step.threads.at[step.threads.n - 1] : NULL;
	if (!t || t->tid != tid) {
		struct model_thread fresh = { .tid = tid, .first = step.calls.n };
		vec_push(&step.threads, fresh);
		t = &step.threads.at[step.threads.n - 1];
	}
	t->n++;
	vec_push(&step.calls, (struct model_call){ .begin_ns = (uint64_t)(begin_us * 1000),
						   .end_ns = (uint64_t)(end_us * 1000),
						   .stack = stack,
						   .category = CAT_LAUNCH });
	return (uint32_t)step.calls.n - 1;
}

static void copy_batch_on(uint32_t tid, double begin_us, double end_us, uint32_t stack,
			  uint64_t bytes)
{
	uint32_t at = call(tid, begin_us, end_us, stack);
	struct model_call *c = &step.calls.at[at];
	c->category = CAT_MEMCPY;
	c->copy = COPY_H2D;
	c->bytes = bytes;
}

static void copy_batch(double begin_us, double end_us, uint32_t stack, uint64_t bytes)
{
	copy_batch_on(1, begin_us, end_us, stack, bytes);
}

/* What holds whatever the step: each lane is divided without gaps, and the sums say so. */
static void find(void)
{
	struct phase_sums sums = { 0 };
	phases_find(&phases, &step, made_some);
	assert_true(phases.lanes.n >= 1);
	for (size_t i = 0; i < phases.lanes.n; i++) {
		const struct phase_lane *l = &phases.lanes.at[i];
		uint64_t at_ns = step.begin_ns;
		for (size_t k = l->first; k < l->first + l->n; k++) {
			assert_int_equal(phases.spans.at[k].begin_ns, at_ns);
			assert_true(phases.spans.at[k].end_ns > at_ns);
			assert_true(k == l->first ||
				    phases.spans.at[k - 1].part != phases.spans.at[k].part);
			at_ns = phases.spans.at[k].end_ns;
		}
		assert_int_equal(at_ns, step.end_ns);
	}
	for (size_t i = 0; i < phases.part_of_call.n; i++)
		assert_true(phases.part_of_call.at[i] < PHASE_PARTS_N &&
			    phases.part_of_call.at[i] != PART_USER);
	phase_sums_add(&sums, &phases, &step, NULL);
	assert_true(phase_sums_are_right(&sums));
	sums.host_ns[PART_NONE]++;
	assert_false(phase_sums_are_right(&sums));
}

static void expect(size_t i, enum phase_part part, double begin_us, double end_us)
{
	assert_true(i < phases.lanes.at[0].n);
	const struct phase_span *s = &phases.spans.at[i];
	if (s->part != part || s->begin_ns != (uint64_t)(begin_us * 1000) ||
	    s->end_ns != (uint64_t)(end_us * 1000))
		fail_msg("span %zu: part %d from %.1f to %.1f us", i, s->part,
			 (double)s->begin_ns / 1e3, (double)s->end_ns / 1e3);
}

static void a_step(void **state)
{
	(void)state;
	uint32_t model = STACK(MODEL), back = STACK(BACK, "at::_ops::ones_like"), opt = STACK(STEP),
		 grad = STACK(ENGINE, "at::_ops::mm");
	copy_batch(100, 110, STACK(USER, "at::_ops::to"), 4096);
	call(1, 150, 160, model);
	call(1, 200, 210, STACK(USER, "at::_ops::mul")); /* the loss */
	call(1, 250, 260, back);
	call(1, 600, 610, opt);
	call(1, 700, 710, STACK(USER, "at::_ops::add_")); /* after it: unassigned */
	call(2, 300, 310, grad);
	call(2, 400, 500, grad);
	find();
	assert_int_equal(phases.lanes.n, 1);
	expect(0, PART_NONE, 0, 100); /* no sample says that the batch was awaited */
	expect(1, PART_TO_DEVICE, 100, 110);
	expect(2, PART_MODULE, 110, 160);
	expect(3, PART_FUNCTIONAL, 160, 210);
	expect(4, PART_BACKWARD, 210, 500);
	expect(5, PART_OPTIMIZER, 500, 610);
	expect(6, PART_NONE, 610, 1000);
	assert_true(phases.lanes.at[0].has_phases);
}

/* An average of the weights that the loop makes after its optimizer, in a step that was cut there;
 * then an accuracy, whose value the CPU reads, and the loss. */
static void copy_back(double at_us, const char *line, uint64_t bytes, bool to_host)
{
	copy_batch(at_us, at_us + 5, STACK(USER, line, "at::_ops::copy_"), bytes);
	if (to_host)
		step.calls.at[step.calls.n - 1].copy = COPY_D2H;
}

/* An optimizer on the host: two weights and two biases go down, and come back. */
static void an_optimizer_on_the_host(void **state)
{
	(void)state;
	static const uint64_t bytes[] = { 65536, 512, 65536, 512 };
	copy_batch(0, 10, STACK(USER, "at::_ops::to"), 4096);
	call(1, 20, 30, STACK(MODEL));
	call(1, 40, 50, STACK(BACK));
	for (int i = 0; i < 4; i++)
		copy_back(100 + 10 * i, "train.py:HostAdam.step@20", bytes[i], true);
	for (int i = 0; i < 4; i++)
		copy_back(500 + 10 * i, "train.py:HostAdam.step@25", bytes[i], false);
	find();
	expect(0, PART_TO_DEVICE, 0, 10);
	expect(3, PART_NONE, 50, 1000);
	end(state);
	begin(state);
	/* images in, images of the same size out */
	for (int i = 0; i < 4; i++) {
		copy_back(100 * i, "train.py:run@10", 4096, false);
		call(1, 100 * i + 20, 100 * i + 30, STACK(MODEL));
		copy_back(100 * i + 50, "train.py:run@12", 4096, true);
	}
	find();
	expect(0, PART_TO_DEVICE, 0, 5);
}

static void user_code_apart_from_the_pass(void **state)
{
	(void)state;
#define LINE(n) "train.py:<module>@" n
	uint32_t model = STACK(LINE("26"), CALL, "train.py:Net.forward", "at::_ops::mm");
	call(1, 0, 10, STACK(LINE("31"), "at::_ops::lerp_"));
	call(1, 20, 30, STACK(LINE("25"), "at::_ops::randn"));
	call(1, 100, 110, model);
	call(1, 150, 160, STACK(LINE("27"), "at::_ops::argmax"));
	call(1, 160, 170, STACK(LINE("27"), "at::_ops::item"));
	call(1, 180, 190, STACK(LINE("28"), "at::_ops::square"));
	call(1, 200, 210, STACK(LINE("29"), SITE "torch/_tensor.py:Tensor.backward"));
#undef LINE
	find();
	expect(0, PART_NONE, 0, 10);
	expect(1, PART_FUNCTIONAL, 10, 30);
	expect(2, PART_MODULE, 30, 110);
	expect(3, PART_NONE, 110, 170);
	expect(4, PART_FUNCTIONAL, 170, 190);
}

static void time_behind_a_loader_is_its(void **state)
{
	(void)state;
	call(1, 100, 110, STACK(USER, LOADER));
	call(1, 500, 510, STACK(MODEL));
	find();
	expect(0, PART_LOADER, 0, 500);
	expect(1, PART_MODULE, 500, 1000 - 490);
	expect(2, PART_LOADER, 510, 1000);
}

/* Accelerate's copies a batch, and gets the next one before it hands this one on. */
static void a_loader_that_copies_waits_afterwards(void **state)
{
	static const char *const shard = SITE "accelerate/data_loader.py:DataLoaderShard.__iter__";
	(void)state;
	copy_batch(100, 110,
		   STACK(USER, shard, SITE "accelerate/utils/operations.py:send_to_device"), 4096);
	call(1, 500, 510, STACK(MODEL));
	find();
	expect(0, PART_LOADER, 0, 500);
	expect(1, PART_MODULE, 500, 510);
	expect(2, PART_LOADER, 510, 1000);
}

/* In a closure, but not in an optimizer that keeps its state on the host. */
static void a_batch_within_an_optimizers_step(void **state)
{
	(void)state;
	copy_batch(100, 110, STACK(STEP, "train.py:closure"), 4096);
	copy_batch(200, 210, STACK(STEP, SITE "offload/adam.py:Adam.step"), 4096);
	find();
	expect(0, PART_NONE, 0, 100);
	expect(1, PART_TO_DEVICE, 100, 110);
	expect(2, PART_OPTIMIZER, 110, 210);
}

/* A library's training loop also passes a closure; a decorator of PyTorch's is not one. */
static void a_batch_within_a_librarys_closure(void **state)
{
	(void)state;
	copy_batch(100, 110,
		   STACK(STEP, SITE "skorch/net.py:NeuralNet.train_step.<locals>.step_fn"), 4096);
	copy_batch(200, 210,
		   STACK(STEP, SITE "torch/utils/_contextlib.py:context.<locals>.decorate_context",
			 SITE "offload/adam.py:Adam.step"),
		   4096);
	find();
	expect(1, PART_TO_DEVICE, 100, 110);
	expect(2, PART_OPTIMIZER, 110, 210);
}

static void small_copies_are_no_batch(void **state)
{
	(void)state;
	call(1, 100, 110, STACK(MODEL));
	copy_batch(200, 210, STACK(USER), 8);
	find();
	expect(1, PART_NONE, 110, 210);
}

static void call_of(uint8_t category, double begin_us, double end_us, uint32_t stack)
{
	uint32_t at = call(1, begin_us, end_us, stack);
	step.calls.at[at].category = category;
}

/* The samples of a step, all in a loader, in order of time. */
static void samples_in_loader(const double *at_us, size_t n)
{
	step.samples.n = 0;
	for (size_t i = 0; i < n; i++)
		vec_push(&step.samples, (struct model_sample){ .ns = (uint64_t)(at_us[i] * 1000),
							       .stack = STACK(USER, LOADER) });
}
#define SAMPLES_IN_LOADER(...)                             \
	samples_in_loader((const double[]){ __VA_ARGS__ }, \
			  sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

#define CUDA_OF_USER USER, "at::_ops::_to_copy", "at::_ops::copy_"

/*
 * A DataLoader's pinned batch that is freed where the loop takes the next one, once at the step's
 * end and once at its begin: an event on the loop's own line. An allocation by the copy's operator
 * belongs to it.
 */
static void preparing_a_batch_is_awaiting_it(void **state)
{
	(void)state;
	call_of(CAT_EVENT, 50, 51, STACK(USER, "c10::cuda::CUDAEvent::record"));
	call_of(CAT_QUERY, 55, 56, 0);
	call_of(CAT_ALLOC, 60, 70, STACK(USER, "at::_ops::_to_copy", "at::_ops::empty_strided"));
	copy_batch(100, 110, STACK(CUDA_OF_USER), 4096);
	call(1, 200, 210, STACK(MODEL));
	call(1, 220, 230, STACK(BACK));
	call(1, 300, 310, STACK(STEP));
	call_of(CAT_EVENT, 900, 901, STACK(USER, "c10::cuda::CUDAEvent::record"));
	SAMPLES_IN_LOADER(20, 500, 950);
	find();
	expect(0, PART_AWAITED, 0, 70);
	expect(1, PART_TO_DEVICE, 70, 110);
	expect(4, PART_OPTIMIZER, 230, 310);
	expect(5, PART_AWAITED, 310, 1000);
}

#define ZERO_GRAD USER, SITE "torch/optim/optimizer.py:Optimizer.zero_grad"

/*
 * Gradients that are set to zero between the loader and the copy, after an event of the previous
 * batch or without one; and before a loader that takes longer.
 */
static void gradients_are_zeroed_ahead_of_the_batch(void **state)
{
	uint32_t zero = STACK(ZERO_GRAD), model = STACK(MODEL), opt = STACK(STEP);
	call_of(CAT_EVENT, 100, 101, STACK(USER, "c10::cuda::CUDAEvent::record"));
	call(1, 110, 120, zero);
	copy_batch(150, 160, STACK(CUDA_OF_USER), 4096);
	call(1, 200, 210, opt);
	call(1, 500, 510, zero);
	call(1, 520, 530, zero);
	copy_batch(550, 560, STACK(CUDA_OF_USER), 4096);
	call(1, 600, 610, model);
	call(1, 640, 650, zero);
	copy_batch(750, 760, STACK(CUDA_OF_USER), 4096);
	call(1, 800, 810, opt);
	SAMPLES_IN_LOADER(50, 300, 700, 900);
	find();
	expect(0, PART_AWAITED, 0, 101);
	expect(1, PART_ZERO_GRAD, 101, 120);
	expect(2, PART_TO_DEVICE, 120, 160); /* on the way to the copy */
	expect(3, PART_OPTIMIZER, 160, 210);
	expect(4, PART_AWAITED, 210, 500);
	expect(5, PART_ZERO_GRAD, 500, 530);
	expect(7, PART_MODULE, 560, 610);
	expect(8, PART_ZERO_GRAD, 610, 650);
	expect(9, PART_AWAITED, 650, 750);
	expect(12, PART_AWAITED, 810, 1000);
	end(state);
	begin(state);
	call(1, 0, 10, STACK(ZERO_GRAD));
	copy_batch(30, 40, STACK(CUDA_OF_USER), 4096);
	call(1, 100, 110, STACK(MODEL));
	SAMPLES_IN_LOADER(500);
	find();
	expect(2, PART_MODULE, 40, 110);
	expect(3, PART_AWAITED, 110, 1000);
}

/* The same calls on the way to something else, and one that waits. */
static void other_preparing_is_not(void **state)
{
	(void)state;
	copy_batch(0, 10, STACK(CUDA_OF_USER), 4096);
	call_of(CAT_EVENT, 100, 110, STACK(USER, SITE "torch/cuda/streams.py:Event.record"));
	call(1, 200, 210, STACK(STEP));
	call_of(CAT_EVENT, 250, 260, STACK(STEP));
	call_of(CAT_SYNC, 300, 310, STACK(USER, SITE "torch/cuda/streams.py:Event.synchronize"));
	call_of(CAT_EVENT, 900, 910, STACK(USER));
	SAMPLES_IN_LOADER(600, 950);
	find();
	expect(0, PART_TO_DEVICE, 0, 10);
	expect(1, PART_NONE, 10, 110);
	expect(2, PART_OPTIMIZER, 110, 260);
	expect(3, PART_NONE, 260, 310);
	expect(4, PART_AWAITED, 310, 1000);
}

/* x.cuda() of pinned memory without non_blocking, and a value that is read. */
static void waiting_for_the_batchs_copy_is_of_it(void **state)
{
	(void)state;
	copy_batch(0, 10, STACK(CUDA_OF_USER), 4096);
	call_of(CAT_SYNC, 20, 500, STACK(CUDA_OF_USER));
	call(1, 600, 610, STACK(MODEL));
	call_of(CAT_SYNC, 620, 700, STACK(USER, "at::_ops::item"));
	call(1, 800, 810, STACK(BACK));
	find();
	expect(0, PART_TO_DEVICE, 0, 500);
	expect(1, PART_MODULE, 500, 610);
	expect(2, PART_NONE, 610, 700);
	end(state);
	begin(state);
	copy_batch(0, 10, STACK(CUDA_OF_USER), 4096);
	call_of(CAT_SYNC, 20, 500, STACK(USER, SITE "torch/cuda/__init__.py:synchronize"));
	find();
	expect(0, PART_TO_DEVICE, 0, 10);
	expect(1, PART_NONE, 10, 1000);
}

static void evaluation_has_no_backward_pass(void **state)
{
	(void)state;
	uint32_t model = STACK(MODEL), back = STACK(BACK), opt = STACK(STEP),
		 zero = STACK(USER, SITE "torch/optim/optimizer.py:Optimizer.zero_grad");
	call(1, 0, 10, model);
	call(1, 50, 60, zero); /* between the two passes, as many write it */
	call(1, 100, 110, back);
	call(1, 200, 210, opt);
	call(1, 300, 310, model);
	find();
	expect(0, PART_MODULE, 0, 10);
	expect(4, PART_EVALUATION, 210, 310);
}

/* L-BFGS runs its closure again and again, and a step may be cut between the passes of one. */
static void closures_are_no_evaluation(void **state)
{
	(void)state;
	uint32_t model = STACK(LBFGS, "train.py:closure@3", CALL, "train.py:Net.forward"),
		 loss = STACK(LBFGS, "train.py:closure@3", "at::_ops::mean"),
		 back = STACK(LBFGS, "train.py:closure@4", SITE "torch/_tensor.py:backward"),
		 own = STACK(LBFGS, "at::_ops::dot");
	call(1, 0, 10, back);
	for (uint64_t at = 100; at < 500; at += 200) {
		call(1, at, at + 10, own);
		call(1, at + 50, at + 60, model);
		call(1, at + 70, at + 80, loss);
		if (at == 100)
			call(1, at + 100, at + 110, back);
	}
	find();
	expect(0, PART_BACKWARD, 0, 10);
	expect(1, PART_OPTIMIZER, 10, 110);
	expect(2, PART_MODULE, 110, 160);
	expect(3, PART_FUNCTIONAL, 160, 180);
	expect(4, PART_BACKWARD, 180, 210);
	expect(5, PART_OPTIMIZER, 210, 310);
	expect(6, PART_MODULE, 310, 360);
}

/*
 * What the loop does after its optimizer, in a step that was cut there: called further down than
 * backward(), before the model.
 */
static void evaluation_of_the_iteration_before(void **state)
{
	(void)state;
	uint32_t model = STACK("train.py:<module>@26", CALL, "train.py:Net.forward",
			       "at::_ops::mm"),
		 read = STACK("train.py:<module>@31", "train.py:evaluate", "at::_ops::argmax"),
		 evaluate = STACK("train.py:<module>@31", "train.py:evaluate", CALL,
				  "train.py:Net.forward", "at::_ops::mm"),
		 teacher = STACK("train.py:<module>@25", CALL, "train.py:Net.forward"),
		 back = STACK("train.py:<module>@28", SITE "torch/_tensor.py:Tensor.backward"),
		 loss;
	call(1, 0, 10, evaluate);
	call(1, 50, 60, read);
	call(1, 100, 110, teacher); /* before backward(), so it may be of the same iteration */
	call(1, 150, 160, model);
	call(1, 200, 210, back);
	find();
	expect(0, PART_EVALUATION, 0, 60);
	expect(1, PART_MODULE, 60, 160);
	end(state);
	begin(state);
	/*
	 * the next iteration's forward pass comes after the optimizer: there is no other one of
	 * this model
	 */
	model = STACK("train.py:<module>@31", CALL, "train.py:Net.forward", "at::_ops::mm");
	loss = STACK("train.py:<module>@27", CALL, "loss.py:Loss.forward");
	back = STACK("train.py:<module>@28", SITE "torch/_tensor.py:Tensor.backward");
	call(1, 0, 10, model);
	call(1, 50, 60, loss);
	call(1, 200, 210, back);
	find();
	expect(0, PART_MODULE, 0, 60);
}

/*
 * After the optimizer of a step that was cut there, makes `n_copies` to the host, at `save`; then
 * come the model and backward().
 */
static void iteration_with_reads(uint32_t save, uint64_t n_copies)
{
	for (uint64_t i = 0; i < n_copies; i++) {
		call(1, 10 * i, 10 * i + 5, save);
		step.calls.at[step.calls.n - 1].category = CAT_MEMCPY;
		step.calls.at[step.calls.n - 1].copy = COPY_D2H;
	}
	call(1, 150, 160,
	     STACK("train.py:<module>@26", CALL, "train.py:Net.forward", "at::_ops::mm"));
	call(1, 200, 210, STACK("train.py:<module>@28", SITE "torch/_tensor.py:Tensor.backward"));
	find();
}

/* A model that is saved has a copy for each parameter, and then its file is written. */
static void reads_of_the_iteration_before(void **state)
{
	iteration_with_reads(STACK("train.py:<module>@31", "at::_ops::_to_copy"), 4);
	expect(0, PART_NONE, 0, 150);
	expect(1, PART_MODULE, 150, 160);
	end(state);
	begin(state);
	/* a value or two are a log, behind which the next batch is on its way */
	iteration_with_reads(STACK("train.py:<module>@31", "at::_ops::_to_copy"), 1);
	expect(0, PART_NONE, 0, 5);
	expect(1, PART_MODULE, 5, 160);
	end(state);
	begin(state);
	/* PyTorch's own code of a file goes on behind its last call */
	iteration_with_reads(STACK("train.py:<module>@31", SITE "torch/serialization.py:save",
				   "at::_ops::copy_"),
			     1);
	expect(0, PART_FILE, 0, 150);
	expect(1, PART_MODULE, 150, 160);
}

/*
 * A forward pass of three layers, with a block for each. The last `n_kept` blocks live until the
 * backward pass.
 */
static void pass_of_layers(uint64_t at, const uint32_t layers[3], size_t n_kept)
{
	for (uint64_t i = 0; i < 3; i++) {
		struct model_block b = { .ns = 1000 * (at + 2 * i),
					 .address = at + i,
					 .stack = layers[i],
					 .event = BLOCK_MADE };
		call(1, at + 2 * i, at + 2 * i + 1, layers[i]);
		vec_push(&step.blocks, b);
		b.event = BLOCK_FREED;
		b.ns += 4500;
		if (i + n_kept < 3)
			vec_push(&step.blocks, b);
	}
}

#define LAYER(line, between, n) \
	STACK("train.py:run@" line, between, CALL, "train.py:Net.forward@" n, "at::_ops::mm")
#define LAYERS(line, between)                                                                   \
	{                                                                                       \
		LAYER(line, between, "1"), LAYER(line, between, "2"), LAYER(line, between, "3") \
	}

static bool has_blocks = true;

static void expect_ahead(const uint32_t layers[3], size_t n_kept, enum phase_part part)
{
	const uint32_t training[] = LAYERS("12", "train.py:fit");
	pass_of_layers(100, layers, n_kept);
	pass_of_layers(200, training, 2);
	call(1, 300, 310,
	     STACK("train.py:run@12", "train.py:fit", SITE "torch/_tensor.py:Tensor.backward"));
	step.blocks.n = has_blocks ? step.blocks.n : 0;
	find();
	expect(0, part, 0, part == PART_EVALUATION ? 105 : 205);
	end(NULL);
	begin(NULL);
}

/* What the loop calls ahead of its training pass, with nothing left of it but the result. */
static void evaluation_ahead_of_the_training_pass(void **state)
{
	(void)state;
	const uint32_t evaluation[] = LAYERS("10", "train.py:evaluate");
	expect_ahead(evaluation, 1, PART_EVALUATION);
	const uint32_t other_branch[] = LAYERS("10", "train.py:evaluate");
	expect_ahead(other_branch, 2, PART_MODULE); /* it waits for its backward pass */
	const uint32_t teacher[] = LAYERS("10", CALL);
	expect_ahead(teacher, 1, PART_MODULE);
	const uint32_t same_line[] = LAYERS("12", "train.py:evaluate");
	expect_ahead(same_line, 1, PART_MODULE);
	has_blocks = false;
	const uint32_t not_seen[] = LAYERS("10", "train.py:evaluate");
	expect_ahead(not_seen, 1, PART_MODULE);
	const uint32_t decorated[] =
		LAYERS("10", SITE "torch/utils/_contextlib.py:decorate_context");
	expect_ahead(decorated, 1, PART_EVALUATION);
	has_blocks = true;
	const uint32_t enabled[] = LAYERS("10", SITE "torch/utils/_contextlib.py:decorate_context");
	expect_ahead(enabled, 2, PART_MODULE); /* by torch.enable_grad() */
}

/* The step was cut behind the forward pass: what is at its end is the next one's. */
static void a_step_that_begins_with_its_backward_pass(void **state)
{
	(void)state;
	call(1, 0, 10, STACK(BACK));
	call(1, 200, 210, STACK(STEP));
	call(1, 300, 310, STACK(MODEL));
	find();
	expect(2, PART_MODULE, 210, 310);
}

static void forward_alone_is_no_evaluation(void **state)
{
	(void)state;
	call(1, 0, 10, STACK(MODEL));
	find();
	expect(0, PART_MODULE, 0, 1000);
}

/* They are of what comes next; autograd's threads are known by their names. */
static void calls_without_stacks(void **state)
{
	(void)state;
	call(1, 100, 110, 0);
	call(1, 150, 160, STACK(MODEL));
	call(1, 200, 210, STACK(MODEL));
	call(1, 900, 910, 0);
	call(2, 300, 310, 0);
	strcpy(step.threads.at[1].name, "pt_autograd_0");
	find();
	assert_int_equal(phases.lanes.n, 1);
	assert_int_equal(phases.n_without_stack, 3);
	expect(0, PART_MODULE, 0, 210);
	expect(1, PART_BACKWARD, 210, 310);
	expect(2, PART_MODULE, 310, 1000);
}

/* PROF_STACKS=sync, none: what comes next is a value that is read, or the backward pass. */
static void few_calls_with_stacks(void **state)
{
	(void)state;
	call(1, 100, 110, 0);
	call(1, 200, 210, 0);
	call(1, 900, 910, STACK(STEP, "cudaStreamSynchronize"));
	call(2, 300, 310, 0);
	strcpy(step.threads.at[1].name, "pt_autograd_0");
	find();
	assert_int_equal(phases.n_unresolved, 2);
	expect(0, PART_NONE, 0, 210);
	expect(1, PART_BACKWARD, 210, 310);
	expect(2, PART_OPTIMIZER, 310, 910);
	expect(3, PART_NONE, 910, 1000);
}

static void threads_of_others_are_lanes_of_their_own(void **state)
{
	(void)state;
	call(7, 50, 60, STACK(USER, SITE "torch/utils/data/_utils/pin_memory.py:do_one_step"));
	call(1, 100, 110, STACK(MODEL));
	call(1, 200, 210, STACK(STEP));
	find();
	assert_int_equal(phases.lanes.n, 2);
	assert_int_equal(step.threads.at[phases.lanes.at[0].thread].tid, 1);
	expect(0, PART_MODULE, 0, 110);
	assert_int_equal(phases.spans.at[phases.lanes.at[1].first].part, PART_LOADER);
}

#define FETCHING "/usr/lib/python3.11/threading.py:Thread.run", "train.py:fetch", "at::_ops::to"

/*
 * The loop's thread waits in a queue and computes as soon as there is a batch; or it did something
 * else while a batch was copied.
 */
static void batches_of_the_users_own_thread(void **state)
{
	uint32_t model = STACK(MODEL), opt = STACK(STEP), fetch = STACK(FETCHING);
	(void)state;
	call(1, 300, 310, model);
	call(1, 320, 330, opt);
	call(1, 530, 540, opt);
	call(1, 560, 570, opt);
	copy_batch_on(2, 270, 290, fetch, 4096);
	copy_batch_on(2, 400, 410, fetch, 4096);
	copy_batch_on(2, 545, 555, fetch, 4096);
	copy_batch_on(2, 960, 970, fetch, 4096);
	find();
	assert_int_equal(phases.lanes.n, 2);
	expect(0, PART_AWAITED, 0, 290);
	expect(1, PART_MODULE, 290, 310);
	expect(2, PART_OPTIMIZER, 310, 570);
	expect(3, PART_AWAITED, 570, 970);
	expect(4, PART_MODULE, 970, 1000);
}

/* What gloo's thread brings back of an exchange with other ranks. */
static void copies_of_a_librarys_thread_are_no_batches(void **state)
{
	(void)state;
	call(1, 300, 310, STACK(MODEL));
	call(1, 800, 810, STACK(STEP));
	copy_batch_on(2, 760, 780, STACK("c10d::ProcessGroupGloo::runLoop", "at::_ops::copy_"),
		      4096);
	find();
	expect(0, PART_MODULE, 0, 310);
	expect(1, PART_OPTIMIZER, 310, 810);
}

/* The step was cut ahead of the copy: the next one begins with a copy, too. */
static void a_step_that_begins_with_a_batch_of_another_thread(void **state)
{
	(void)state;
	copy_batch_on(2, 5, 15, STACK(FETCHING), 4096);
	call(1, 60, 70, STACK(MODEL));
	call(1, 100, 110, STACK(STEP));
	call(1, 120, 125, STACK(STEP));
	find();
	expect(0, PART_MODULE, 0, 70);
	expect(1, PART_OPTIMIZER, 70, 125);
	expect(2, PART_AWAITED, 125, 1000);
}

static void a_program_of_another_kind(void **state)
{
	(void)state;
	call(1, 100, 110, STACK("main", "compute"));
	copy_batch(200, 210, STACK("main"), 4096);
	find();
	assert_false(phases.lanes.at[0].has_phases);
}

static void a_step_without_calls(void **state)
{
	(void)state;
	find();
	expect(0, PART_NONE, 0, 1000);
}

/* Broken times of a damaged journal: no gap, no overlap, all the same. */
static void any_order_sums_up(void **state)
{
	uint32_t stacks[] = { STACK(MODEL),	   STACK(STEP), STACK(BACK),
			      STACK(USER, LOADER), STACK(USER), 0 };
	uint64_t random = 7;
	(void)state;
	for (int round = 0; round < 200; round++) {
		step.calls.n = step.threads.n = 0;
		for (uint32_t tid = 1; tid < 4; tid++)
			for (int i = 0; i < 8; i++) {
				random = random * 6364136223846793005ull + 1442695040888963407ull;
				double at = (double)(random >> 33) * 1100 / 2147483648.0;
				call(tid, at, at + (double)(random >> 20 & 63),
				     stacks[(random >> 50) % 6]);
			}
		find();
	}
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, begin, end)
	const struct CMUnitTest tests[] = {
		test(plain_stacks),
		test(averages_of_the_weights),
		test(averages_and_metrics_of_the_user),
		test(user_code_apart_from_the_pass),
		test(an_optimizer_on_the_host),
		test(steps_in_wrappers),
		test(passes_within_others),
		test(anomaly_detection),
		test(names_of_others),
		test(native_frames_alone),
		test(a_step),
		test(time_behind_a_loader_is_its),
		test(a_loader_that_copies_waits_afterwards),
		test(a_batch_within_an_optimizers_step),
		test(a_batch_within_a_librarys_closure),
		test(small_copies_are_no_batch),
		test(preparing_a_batch_is_awaiting_it),
		test(gradients_are_zeroed_ahead_of_the_batch),
		test(other_preparing_is_not),
		test(waiting_for_the_batchs_copy_is_of_it),
		test(evaluation_has_no_backward_pass),
		test(closures_are_no_evaluation),
		test(evaluation_ahead_of_the_training_pass),
		test(a_step_that_begins_with_its_backward_pass),
		test(evaluation_of_the_iteration_before),
		test(reads_of_the_iteration_before),
		test(forward_alone_is_no_evaluation),
		test(calls_without_stacks),
		test(few_calls_with_stacks),
		test(threads_of_others_are_lanes_of_their_own),
		test(batches_of_the_users_own_thread),
		test(a_step_that_begins_with_a_batch_of_another_thread),
		test(copies_of_a_librarys_thread_are_no_batches),
		test(a_program_of_another_kind),
		test(a_step_without_calls),
		test(any_order_sums_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
