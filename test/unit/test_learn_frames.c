/* What the stack of a launch says to step learning (core/learn_frames.h). */
#include "core/learn_frames.h"

#include "core/levels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SURE = LEVEL_NAMED | LEVEL_FRAMED };
enum { CALLER = 1, WRAPPER, STEP, CLOSURE, MODULE, OTHER_LIBRARY, OWN_STEP, OWN_PART };

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
	add_stack(d, 1, (uint32_t[]){ 0, STEP, WRAPPER, CALLER }, 4);
	add_stack(d, 2, (uint32_t[]){ 0, MODULE, CALLER }, 3);
	add_stack(d, 3, (uint32_t[]){ 0, MODULE, CLOSURE, STEP, WRAPPER, CALLER }, 6);
	add_stack(d, 4, (uint32_t[]){ 0, OTHER_LIBRARY, CALLER }, 3);
	add_stack(d, 5, (uint32_t[]){ 0, CLOSURE, STEP, WRAPPER, CALLER }, 5);
	add_stack(d, 6, (uint32_t[]){ 0, OWN_PART, OWN_STEP, WRAPPER, CALLER }, 5);
	add_stack(d, 7, (uint32_t[]){ 0, OTHER_LIBRARY, STEP, WRAPPER, CALLER }, 5);
}

static void test_hints(void **state)
{
	(void)state;
	struct dict d = { 0 };
	struct learn_frames x = { 0 };
	fill(&d);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 1), SURE | LEVEL_OPTIMIZER);
	assert_int_equal(learn_frames_hints(&x, &d, 13, 2), SURE);
	/* the forward pass in a closure is none of the optimizer's */
	assert_int_equal(learn_frames_hints(&x, &d, 15, 3), SURE);
	/* ...nor is the loss that the closure reads; an optimizer of the user's own is one, as is what it calls */
	assert_int_equal(learn_frames_hints(&x, &d, 23, 5), SURE);
	assert_int_equal(learn_frames_hints(&x, &d, 25, 6), SURE | LEVEL_OPTIMIZER);
	assert_int_equal(learn_frames_hints(&x, &d, 27, 7), SURE | LEVEL_OPTIMIZER);
	/* not a framework whose optimizers we know: an optimizer may be unseen */
	assert_int_equal(learn_frames_hints(&x, &d, 17, 4), 0);
	/* a stack that the dictionary does not have, and a launch without one */
	assert_int_equal(learn_frames_hints(&x, &d, 19, 99), 0);
	assert_int_equal(learn_frames_hints(&x, &d, 21, 0), 0);
	learn_frames_free(&x);
	dict_free(&d);
}

/* Later launches of the kind take no stack; two stacks that disagree make it nobody's. */
static void test_kept_by_trigram(void **state)
{
	(void)state;
	struct dict d = { 0 };
	struct learn_frames x = { 0 };
	fill(&d);
	learn_frames_hints(&x, &d, 11, 1);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 0), SURE | LEVEL_OPTIMIZER);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 2), SURE);
	assert_int_equal(learn_frames_hints(&x, &d, 11, 0), SURE);
	learn_frames_free(&x);
	dict_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_kept_by_trigram),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
