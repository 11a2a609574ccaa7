/*
 * How samples divide the time between two calls among the phases. The step's loop is the source
 * text below. Times are microseconds.
 */
#include "core/analysis/phases.h"
#include "test/unit/made_stacks.h"

#define SITE	"/usr/lib/python3.11/site-packages/"
#define LINE(n) "train.py:<module>@" n
#define CALL	SITE "torch/nn/modules/module.py:Module._call_impl"

static const char *const source[] = {
	[10] = "for raw in loader:",
	[11] = "raw = augment(raw)",
	[12] = "count(raw, step)  # how many",
	[13] = "x = raw.cuda()",
	[14] = "loss = model(x)",
	[15] = "weigh(loss)",
	[16] = "loss.backward()",
	[17] = "look_at(model)",
	[18] = "opt.step()",
	[19] = "write_down(loss)",
};

static struct model_step step;
static struct phases phases;
static uint32_t copy, forward, backward, optimizer;

static void add_call(double begin_us, double end_us, uint32_t stack)
{
	vec_push(&step.calls, (struct model_call){ .begin_ns = (uint64_t)(begin_us * 1000),
						   .end_ns = (uint64_t)(end_us * 1000),
						   .stack = stack,
						   .category = CAT_LAUNCH });
	step.threads.at[0].n++;
}

/* Adds the calls of the step, each 10 us long: at 1000, 2000, 3000 and 4000 us of 6000. */
static int begin(void **state)
{
	(void)state;
	made_forget();
	made_source = source;
	made_n_lines = sizeof(source) / sizeof(*source);
	copy = STACK(LINE("13"), "at::_ops::to");
	forward = STACK(LINE("14"), CALL, "train.py:Net.forward", "at::_ops::mm");
	backward = STACK(LINE("16"), SITE "torch/_tensor.py:Tensor.backward");
	optimizer = STACK(LINE("18"), SITE "torch/optim/optimizer.py:Optimizer.step",
			  "at::_ops::_foreach_add_");
	step.end_ns = 6000000;
	vec_push(&step.threads, (struct model_thread){ .tid = 1 });
	add_call(1000, 1010, copy);
	step.calls.at[0].category = CAT_MEMCPY;
	step.calls.at[0].copy = COPY_H2D;
	step.calls.at[0].bytes = 1 << 20;
	add_call(2000, 2010, forward);
	add_call(3000, 3010, backward);
	add_call(4000, 4010, optimizer);
	return 0;
}

static int end(void **state)
{
	(void)state;
	model_free(&step);
	memset(&step, 0, sizeof(step));
	phases_free(&phases);
	memset(&phases, 0, sizeof(phases));
	made_n_lines = 0;
	return 0;
}

static void sample(double at_us, uint32_t stack)
{
	vec_push(&step.samples,
		 (struct model_sample){ .ns = (uint64_t)(at_us * 1000), .stack = stack });
}

/* Returns the part of the moment; checks that the spans cover the step. */
static uint8_t part_at(double us)
{
	uint64_t ns = (uint64_t)(us * 1000), at_ns = 0;
	uint8_t part = PHASE_PARTS_N;
	for (size_t i = 0; i < phases.spans.n; i++) {
		const struct phase_span *s = &phases.spans.at[i];
		assert_int_equal(s->begin_ns, at_ns);
		at_ns = s->end_ns;
		if (ns >= s->begin_ns && ns < s->end_ns)
			part = s->part;
	}
	assert_int_equal(at_ns, step.end_ns);
	return part;
}

static void find(void)
{
	phases_find(&phases, &step, made_some);
}

/* But that a batch is copied next does not show what the program did for a millisecond. */
static void without_samples_the_next_call_decides(void **state)
{
	(void)state;
	find();
	assert_int_equal(part_at(500), PART_NONE);
	assert_int_equal(part_at(1500), PART_MODULE);
	assert_int_equal(part_at(2500), PART_BACKWARD);
	assert_int_equal(part_at(3500), PART_OPTIMIZER);
	assert_int_equal(part_at(5000), PART_NONE);
}

/* What the user calls after the step is not the wait for the next batch; a loader is. */
static void work_after_the_step_is_no_data(void **state)
{
	(void)state;
	sample(4200, STACK(LINE("19"), "train.py:write_down@3"));
	sample(4800, STACK(LINE("19"), "train.py:write_down@4"));
	sample(5400, STACK(LINE("10"), SITE "torch/utils/data/"
					    "dataloader.py:_BaseDataLoaderIter.__next__"));
	find();
	assert_int_equal(part_at(4300), PART_NONE);
	assert_int_equal(part_at(5000), PART_NONE);
	assert_int_equal(part_at(5200), PART_AWAITED);
	assert_int_equal(part_at(5900), PART_AWAITED);
}

/* Before the copy, code whose result is used may make the batch; a statement that only calls a
 * function does not. */
static void work_before_the_copy(void **state)
{
	(void)state;
	sample(100, STACK(LINE("11"), "train.py:augment@3"));
	sample(300, STACK(LINE("12"), "train.py:count@5"));
	sample(500, STACK(LINE("11")));
	sample(700, STACK(LINE("13"), "train.py:Lazy.cuda@9"));
	find();
	assert_int_equal(part_at(100), PART_AWAITED);
	assert_int_equal(part_at(300), PART_NONE);
	assert_int_equal(part_at(500), PART_AWAITED);
	assert_int_equal(part_at(800), PART_AWAITED);
}

/* Before the copy, only that code makes the batch whose result reaches the copy. */
static void only_what_the_copy_uses_is_data(void **state)
{
	static const char *const other[] = {
		[10] = "for i in range(n):",
		[11] = "rate = schedule(i)",
		[12] = "rows = []",
		[13] = "for k in range(8):",
		[14] = "rows.append(decode(i, k))",
		[15] = "both, self.names[i] = collate(",
		[16] = "rows, order='C')",
		[17] = "if both == rate:",
		[18] = "print(both)",
		[19] = "x = move(",
		[20] = "both, rate.device)",
	};
	(void)state;
	made_source = other;
	made_n_lines = sizeof(other) / sizeof(*other);
	step.calls.at[0].stack = STACK(LINE("19"), "train.py:move@40", "at::_ops::to");
	sample(100, STACK(LINE("14"), "train.py:decode@3"));
	sample(300, STACK(LINE("16"), "train.py:collate@5"));
	sample(500, STACK(LINE("18")));
	sample(700, STACK(LINE("19"), "train.py:widen@39"));
	find();
	assert_int_equal(part_at(100), PART_AWAITED);
	assert_int_equal(part_at(300), PART_AWAITED);
	assert_int_equal(part_at(500), PART_NONE);
	assert_int_equal(part_at(800), PART_AWAITED);
	step.samples.n = 0;
	sample(100, STACK(LINE("12")));
	sample(900, STACK(LINE("17"), "train.py:Rate.__eq__@9"));
	find();
	assert_int_equal(part_at(100), PART_AWAITED);
	assert_int_equal(part_at(900), PART_NONE);
}

/* A condition in front of the call, on the same line, does not make its result a part of the
 * forward pass. */
static void a_call_under_a_condition(void **state)
{
	static const char *const other[] = {
		[11] = "if rank[0] == 1: clean(step)",
		[12] = "if cached: raw = load(names[1:3])",
		[14] = "loss = model(x)",
	};
	(void)state;
	made_source = other;
	made_n_lines = sizeof(other) / sizeof(*other);
	step.calls.at[0] = step.calls.at[1];
	step.calls.at[0].begin_ns = 1000000;
	step.calls.at[0].end_ns = 1010000;
	sample(100, STACK(LINE("11"), "train.py:clean@3"));
	sample(700, STACK(LINE("12"), "train.py:load@5"));
	find();
	assert_int_equal(part_at(100), PART_NONE);
	assert_int_equal(part_at(700), PART_MODULE);
}

static void code_between_the_passes(void **state)
{
	(void)state;
	sample(1500, STACK(LINE("14"), CALL, "train.py:Net.forward"));
	sample(2300, STACK(LINE("15"), "train.py:weigh@2"));
	sample(2700, STACK(LINE("16"), SITE "torch/_tensor.py:Tensor.backward"));
	sample(3300, STACK(LINE("17"), "train.py:look_at@2"));
	sample(3700, STACK(LINE("18"), SITE "torch/optim/optimizer.py:Optimizer.step"));
	sample(4500, STACK(LINE("19"), "train.py:log_metrics@2"));
	find();
	assert_int_equal(part_at(1500), PART_MODULE);
	assert_int_equal(part_at(2300), PART_FUNCTIONAL);
	assert_int_equal(part_at(2700), PART_BACKWARD);
	assert_int_equal(part_at(3300), PART_NONE);
	assert_int_equal(part_at(3700), PART_OPTIMIZER);
	assert_int_equal(part_at(5000), PART_METRIC);
}

/* A loop that makes its data on the device begins with the forward pass. What it does after the
 * optimizer is not part of the next forward pass. */
static void work_before_the_forward_pass(void **state)
{
	(void)state;
	step.calls.at[0] = step.calls.at[1];
	step.calls.at[0].begin_ns = 1000000;
	step.calls.at[0].end_ns = 1010000;
	sample(100, STACK(LINE("11"), "train.py:augment@3"));
	sample(500, STACK(LINE("12"), "train.py:count@5"));
	sample(700, STACK(LINE("14"), CALL, "train.py:Net.forward"));
	sample(4500, STACK(LINE("19"), "train.py:write_down@3"));
	find();
	assert_int_equal(part_at(100), PART_MODULE);
	assert_int_equal(part_at(500), PART_NONE);
	assert_int_equal(part_at(800), PART_MODULE);
	assert_int_equal(part_at(5000), PART_NONE);
}

/* A sample without frames, or of another thread, says nothing. */
static void samples_that_say_nothing(void **state)
{
	(void)state;
	sample(3500, 0);
	vec_push(&step.threads, (struct model_thread){ .tid = 2, .first = 4 });
	sample(2500, STACK(LINE("17"), "train.py:look_at@2"));
	step.samples.at[1].thread = 1;
	find();
	assert_int_equal(part_at(2500), PART_BACKWARD);
	assert_int_equal(part_at(3500), PART_OPTIMIZER);
}

/* Where no sample was taken in a step, the last one that was taken between these calls counts. */
static void what_was_seen_in_other_steps(void **state)
{
	(void)state;
	sample(4500, STACK(LINE("19"), "train.py:write_down@3"));
	sample(3500, STACK(LINE("17"), "train.py:look_at@2"));
	/* sorted by time */
	struct model_sample first = step.samples.at[1];
	step.samples.at[1] = step.samples.at[0];
	step.samples.at[0] = first;
	find();
	step.samples.n = 0;
	find();
	assert_int_equal(part_at(3500), PART_NONE);
	assert_int_equal(part_at(5000), PART_NONE);
	assert_int_equal(part_at(500), PART_NONE);
	assert_int_equal(part_at(1500), PART_MODULE);
}

/* A run without steps has no next step whose batch could be awaited. */
static void a_run_without_steps_awaits_nothing(void **state)
{
	(void)state;
	step.is_whole_run = true;
	find();
	assert_int_equal(part_at(5000), PART_NONE);
}

/* A model's parameters are no batch, though they are copied to the device as one. */
static void moving_a_model_is_no_data(void **state)
{
	(void)state;
	step.calls.at[0].stack = STACK(LINE("13"), SITE "torch/nn/modules/module.py:Module.cuda",
				       SITE "torch/nn/modules/module.py:Module._apply",
				       SITE "torch/nn/modules/module.py:Module.cuda.<locals>.f",
				       "at::_ops::to");
	find();
	assert_int_equal(part_at(1005), PART_MOVE);
	assert_int_equal(phase_of_part(part_at(500)), PHASE_OTHER);
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, begin, end)
	const struct CMUnitTest tests[] = {
		test(without_samples_the_next_call_decides),
		test(work_after_the_step_is_no_data),
		test(work_before_the_copy),
		test(only_what_the_copy_uses_is_data),
		test(a_call_under_a_condition),
		test(code_between_the_passes),
		test(work_before_the_forward_pass),
		test(samples_that_say_nothing),
		test(what_was_seen_in_other_steps),
		test(a_run_without_steps_awaits_nothing),
		test(moving_a_model_is_no_data),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
