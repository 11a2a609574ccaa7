/* What the stack of a launch says to step learning (core/steps/learn_frames.h). */
#include "core/steps/learn_frames.h"

#include "core/steps/learn_function.h"
#include "core/steps/levels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SURE = LEVEL_NAMED };
enum {
	CALLER = 1,
	WRAPPER,
	STEP,
	CLOSURE,
	MODULE,
	OTHER_LIBRARY,
	OWN_STEP,
	OWN_PART,
	TRAINER,
	AVERAGE,
	LIGHTNING,
	LIGHTNING_CLOSURE
};

static void add_string(struct dict *d, uint32_t id, const char *text)
{
	union {
		struct dict_string s;
		char bytes[256];
	} u = { .s = { .head = { DICT_MARK, DICT_STRING, 0 }, .id = id } };
	strcpy(u.s.text, text);
	u.s.head.bytes =
		(uint32_t)((offsetof(struct dict_string, text) + strlen(text) + 1 + 7) / 8 * 8);
	dict_add(d, &u.s.head);
}

static void add_code(struct dict *d, uint32_t id, const char *file, const char *name)
{
	add_string(d, id * 2, file);
	add_string(d, id * 2 + 1, name);
	struct dict_code c = { .head = { DICT_MARK, DICT_CODE, sizeof(c) },
			       .id = id,
			       .file = id * 2,
			       .name = id * 2 + 1 };
	dict_add(d, &c.head);
}

/* Codes, innermost first; 0: a native frame. */
static void add_stack(struct dict *d, uint32_t id, const uint32_t *codes, uint16_t n)
{
	union {
		struct dict_stack s;
		uint64_t words[32];
	} u = { .s = { .head = { DICT_MARK, DICT_STACK, 0 }, .id = id, .n = n } };
	for (uint16_t i = 0; i < n; i++)
		u.s.frames[i] = codes[i] ? frame_python(codes[i], 2) : frame_native(1, 64);
	u.s.head.bytes = (uint32_t)(offsetof(struct dict_stack, frames) + n * 8u);
	dict_add(d, &u.s.head);
}

static void fill(struct dict *d)
{
	add_code(d, CALLER, "/home/me/train.py", "main");
	add_code(d, WRAPPER, "/v/site-packages/torch/optim/optimizer.py",
		 "Optimizer.profile_hook_step.<locals>.wrapper");
	add_code(d, STEP, "/v/site-packages/torch/optim/lbfgs.py", "LBFGS.step");
	add_code(d, CLOSURE, "/home/me/train.py", "main.<locals>.closure");
	add_code(d, MODULE, "/v/site-packages/torch/nn/modules/module.py", "Module._call_impl");
	add_code(d, OTHER_LIBRARY, "/v/site-packages/cupy/core.py", "add");
	add_code(d, OWN_STEP, "/home/me/lion.py", "Lion.step");
	add_code(d, OWN_PART, "/home/me/lion.py", "update");
	add_code(d, TRAINER, "/v/site-packages/skorch/net.py",
		 "NeuralNet.train_step.<locals>.step_fn");
	add_code(d, AVERAGE, "/v/site-packages/torch/optim/swa_utils.py",
		 "AveragedModel.update_parameters");
	add_code(d, LIGHTNING, "/v/site-packages/lightning/pytorch/loops/optimization/automatic.py",
		 "ClosureResult.from_training_step_output");
	add_code(d, LIGHTNING_CLOSURE,
		 "/v/site-packages/lightning/pytorch/loops/optimization/automatic.py",
		 "Closure.closure");
	add_stack(d, 1, (uint32_t[]){ 0, STEP, WRAPPER, CALLER }, 4);
	add_stack(d, 2, (uint32_t[]){ 0, MODULE, CALLER }, 3);
	add_stack(d, 3, (uint32_t[]){ 0, MODULE, CLOSURE, STEP, WRAPPER, CALLER }, 6);
	add_stack(d, 4, (uint32_t[]){ 0, OTHER_LIBRARY, CALLER }, 3);
	add_stack(d, 5, (uint32_t[]){ 0, CLOSURE, STEP, WRAPPER, CALLER }, 5);
	add_stack(d, 6, (uint32_t[]){ 0, OWN_PART, OWN_STEP, WRAPPER, CALLER }, 5);
	add_stack(d, 7, (uint32_t[]){ 0, OTHER_LIBRARY, STEP, WRAPPER, CALLER }, 5);
	add_stack(d, 8, (uint32_t[]){ 0, TRAINER, STEP, WRAPPER, CALLER }, 5);
	add_stack(d, 9, (uint32_t[]){ 0, AVERAGE, CALLER }, 3);
	add_stack(d, 11, (uint32_t[]){ 0, OWN_PART, MODULE, CALLER }, 4);
	add_stack(d, 10, (uint32_t[]){ 0, LIGHTNING, LIGHTNING_CLOSURE, STEP, WRAPPER, CALLER }, 6);
}

static void test_hints(void **state)
{
	(void)state;
	struct dict d = { 0 };
	struct learn_frames x = { 0 };
	fill(&d);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 1), SURE | LEVEL_OPTIMIZER);
	assert_int_equal(learn_frames_hints(&x, &d, 13, 2), SURE);
	/* the forward pass in a closure does not belong to the optimizer */
	assert_int_equal(learn_frames_hints(&x, &d, 15, 3), SURE);
	/*
	 * ...nor does the loss that the closure reads; an optimizer of the user's own is one, and
	 * so is what it calls
	 */
	assert_int_equal(learn_frames_hints(&x, &d, 23, 5), SURE);
	assert_int_equal(learn_frames_hints(&x, &d, 25, 6), SURE | LEVEL_OPTIMIZER);
	assert_int_equal(learn_frames_hints(&x, &d, 27, 7), SURE | LEVEL_OPTIMIZER);
	/*
	 * a trainer's closure, and an average of the weights, which belongs to the step before it
	 */
	assert_int_equal(learn_frames_hints(&x, &d, 29, 8), SURE);
	assert_int_equal(learn_frames_hints(&x, &d, 31, 9), SURE | LEVEL_OPTIMIZER);
	/* ...and Lightning's, which is a framework: what it does with the loss that it gets */
	assert_int_equal(learn_frames_hints(&x, &d, 33, 10), SURE);
	/* not a framework whose optimizers we know: an optimizer may be unseen */
	assert_int_equal(learn_frames_hints(&x, &d, 17, 4), 0);
	/* a hook of a module's, and the same launches elsewhere */
	assert_int_equal(learn_frames_hints(&x, &d, 35, 11), SURE);
	assert_int_equal(learn_frames_hints(&x, &d, 35, 8), SURE);
	assert_int_equal(learn_frames_hints(&x, &d, 35, 11), SURE);
	assert_int_equal(learn_frames_hints(&x, &d, 35, 1), SURE | LEARN_FRAMES_DISAGREE);
	/* a stack that the dictionary does not have, and a launch without one */
	assert_int_equal(learn_frames_hints(&x, &d, 19, 99), 0);
	assert_int_equal(learn_frames_hints(&x, &d, 21, 0), 0);
	learn_frames_free(&x);
	dict_free(&d);
}

/* Later launches of the kind take no stack; two stacks that disagree leave it without hints. */
static void test_kept_by_trigram(void **state)
{
	(void)state;
	struct dict d = { 0 };
	struct learn_frames x = { 0 };
	fill(&d);
	learn_frames_hints(&x, &d, 11, 1);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 0), SURE | LEVEL_OPTIMIZER);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 2), SURE | LEARN_FRAMES_DISAGREE);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 0), SURE | LEARN_FRAMES_DISAGREE);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 1), SURE | LEARN_FRAMES_DISAGREE);
	learn_frames_free(&x);
	dict_free(&d);
}

/*
 * Launches of a loop that calls a function and, every four steps, runs the first part of the
 * function's work three times more.
 */
struct stream {
	uint64_t hashes[8192];
	uint32_t stacks[8192];
	size_t n;
	uint64_t before[2];
};

static void launch(struct stream *s, uint64_t kernel, uint32_t stack)
{
	s->hashes[s->n] = (s->before[0] * 100 + s->before[1]) * 100 + kernel;
	s->stacks[s->n++] = stack;
	s->before[0] = s->before[1];
	s->before[1] = kernel;
}

static void make_steps(struct stream *s, unsigned n_forward)
{
	for (unsigned step = 1; step <= 40; step++) {
		for (unsigned i = 0; i < n_forward + 5; i++)
			launch(s, 1 + i, 6);
		launch(s, 90, 4);
		for (unsigned pass = 0; step % 4 == 0 && pass < 3; pass++)
			for (unsigned i = 0; i < n_forward; i++)
				launch(s, 1 + i, 4);
	}
}

/* Returns how often the anchor comes that is found if launches arrive `at_a_time` at a time. */
static size_t count_found(const struct stream *s, size_t at_a_time)
{
	struct dict d = { 0 };
	struct learn_function x = { 0 };
	struct level_choice choice = { 0 };
	size_t n = 0;
	bool found = false;
	fill(&d);
	for (size_t at = 0; at < s->n && !found; at++) {
		learn_function_feed(&x, &d, "lion.py:step", 1, s->hashes[at], s->stacks[at]);
		found = at % at_a_time == 0 && learn_function_vote(&x, false, &choice);
	}
	if (!found) /* every look fell where work was done outside */
		found = learn_function_vote(&x, true, &choice);
	for (size_t i = 0; found && i < s->n; i++)
		n += s->hashes[i] == choice.anchor;
	learn_function_free(&x);
	dict_free(&d);
	return n;
}

/* Some looks fall right behind where the other work has begun. */
static void test_function_whose_work_is_done_outside_too(void **state)
{
	(void)state;
	for (unsigned n_forward = 3; n_forward < 20; n_forward++) {
		static struct stream s;
		memset(&s, 0, sizeof(s));
		make_steps(&s, n_forward);
		for (size_t at_a_time = 1; at_a_time < 150; at_a_time++)
			assert_in_range(count_found(&s, at_a_time), 39, 40);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_kept_by_trigram),
		cmocka_unit_test(test_function_whose_work_is_done_outside_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
