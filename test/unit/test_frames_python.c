/*
 * Readable stacks: Python's frames next to native ones, which line is the user's, whose code a file
 * is.
 */
#include "core/symbols/origin.h"
#include "test/unit/process_frames.h"

static void test_python_frames_and_the_users_line(void **state)
{
	(void)state;
	put_python();
	const uint64_t raw[] = { frame_python(LAYER, 10), frame_python(TRAIN, 24),
				 frame_python(STRING, FRAME_LASTI_UNKNOWN) };
	const uint64_t same_line[] = { frame_python(LAYER, 4), frame_python(TRAIN, 22) };
	const uint64_t elsewhere[] = { frame_python(LAYER, 4), frame_python(ELSEWHERE, 12),
				       frame_python(LAYER, 0) };
	const uint64_t unknown[] = { frame_python(77, 4) };
	jb_stack(builder, 10, 0, 0, 0, raw, 3);
	jb_stack(builder, 11, 0, 0, STACK_PYTHON_TRUNCATED, same_line, 2);
	jb_stack(builder, 12, 0, 0, 0, elsewhere, 3);
	jb_stack(builder, 13, 0, 0, 0, raw + 2, 1);
	jb_stack(builder, 14, 0, 0, 0, unknown, 1);
	read_dictionary();
	const struct frame *f = frame_at(10, 0);
	assert_string_equal(f->function, "Linear.forward");
	assert_int_equal(f->line, 122);
	assert_int_equal(f->kind, FRAME_KIND_PYTHON);
	assert_true(f->is_library);
	assert_string_equal(f->module, "");
	assert_int_equal(frame_at(10, 1)->line, 45);
	assert_false(frames_of(frames, 10).is_truncated);
	assert_true(frames_of(frames, 11).is_truncated);
	uint32_t site = frames_site(frames, 10);
	assert_int_equal(site, frames_site(frames, 11));
	assert_string_equal(frames_site_at(frames, site)->file, "/home/u/train.py");
	assert_int_equal(frames_site_at(frames, site)->line, 45);
	assert_true(frames_site_at(frames, site)->is_user);
	const struct site *s = frames_site_at(frames, frames_site(frames, 12));
	assert_string_equal(s->function, "fit"); /* not the framework's own line */
	assert_false(s->is_user);
	s = frames_site_at(frames, frames_site(frames, 13));
	assert_true(s->is_user && s->line == 1);
	assert_string_equal(frame_at(14, 0)->function, "?");
	assert_int_equal(frames_n_sites(frames), 4);
	assert_int_equal(frames_site(frames, 0), 0);
	assert_string_equal(frames_site_at(frames, 0)->file, "");
	assert_string_equal(frames_site_at(frames, 99)->file, "");
}

/*
 * A line is one site, whichever of its functions made the call. It has the name of the function
 * that contains the others.
 */
static void test_functions_of_one_line_are_one_site(void **state)
{
	enum { OUTER = 20, GENERATOR, UNQUALIFIED, OTHER };
	(void)state;
	put_code(GENERATOR, "/home/u/eval.py", "evaluate.<locals>.<genexpr>", 10);
	put_code(OUTER, "/home/u/eval.py", "evaluate", 10);
	put_code(UNQUALIFIED, "/home/u/eval.py", "<genexpr>", 10);
	put_code(OTHER, "/home/u/other.py", "evaluate", 10);
	const uint64_t raw[] = { frame_python(GENERATOR, 0), frame_python(OUTER, 0),
				 frame_python(UNQUALIFIED, 0), frame_python(OTHER, 0) };
	for (uint32_t i = 0; i < 4; i++)
		jb_stack(builder, i + 1, 0, 0, 0, &raw[i], 1);
	read_dictionary();
	uint32_t site = frames_site(frames, 1);
	assert_string_equal(frames_site_at(frames, site)->function, "evaluate.<locals>.<genexpr>");
	assert_int_equal(frames_site(frames, 2), site);
	assert_int_equal(frames_site(frames, 3), site);
	assert_string_equal(frames_site_at(frames, site)->function, "evaluate");
	assert_int_not_equal(frames_site(frames, 4), site);
}

/*
 * Python frames after the native ones, one for each frame of the evaluator: they take the
 * evaluator's places.
 */
static void test_merge_by_name(void **state)
{
	(void)state;
	void *handle;
	struct wanted w = load("shapes.so", &handle);
	seen.base = w.module.base;
	seen.begin = w.module.begin;
	seen.end = w.module.end;
	int (*evaluate)(int, void (*)(void)) =
		(int (*)(int, void (*)(void)))dlsym(handle, "_PyEval_EvalFrameDefault");
	evaluate(1, take_stack);
	dlclose(handle);
	assert_int_equal(seen.n, 2);
	jb_module(builder, &w.module, w.path);
	put_python();
	uint64_t raw[8] = { frame_native(0, 0x1111), seen.frames[0], frame_native(0, 0x2222),
			    seen.frames[1], frame_native(0, 0x3333) };
	raw[5] = frame_python(LAYER, 0);
	raw[6] = frame_python(TRAIN, 0);
	raw[7] = frame_python(STRING, 0);
	jb_stack(builder, 1, 0, 0, STACK_BY_NAME, raw, 8);
	jb_stack(builder, 2, 0, 0, STACK_UNMERGED, raw, 8);
	read_dictionary();
	static const char *const merged[] = { "0x1111", "Linear.forward", "0x2222",
					      "step",	"0x3333",	  "<module>" };
	assert_int_equal(frames_of(frames, 1).n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(frame_at(1, i)->function, merged[i]);
	assert_int_equal(frames_of(frames, 2).n, 8);
	assert_string_equal(frame_at(2, 1)->function, "_PyEval_EvalFrameDefault");
	assert_true(frame_at(2, 5)->kind == FRAME_KIND_PYTHON);
}

static void test_stacks_that_share_frames(void **state)
{
	(void)state;
	uint64_t raw[6], out[DICT_FRAMES_MOST];
	uint32_t flags;
	for (uint64_t i = 0; i < 6; i++)
		raw[i] = frame_native(0, 100 + i);
	jb_stack(builder, 1, 0, 0, 0, raw, 4);	   /* 100 101 102 103 */
	jb_stack(builder, 2, 1, 3, 0, raw + 4, 1); /* 104 101 102 103 */
	jb_stack(builder, 3, 2, 2, 0, raw + 4, 2); /* 104 105 102 103 */
	jb_stack(builder, 4, 3, 4, 0, raw, 0);	   /* the same again */
	jb_stack(builder, 5, 9, 1, 0, raw, 1);	   /* no such base */
	jb_stack(builder, 6, 1, 5, 0, raw, 1);	   /* more than the base has */
	jb_stack(builder, 0, 0, 0, 0, raw, 1);	   /* 0 is no id */
	jb_stack(builder, 1, 0, 0, 0, raw + 1, 1); /* again */
	jb_stack(builder, 7, 8, 0, 0, raw, 1);	   /* nothing shared: the base doesn't matter */
	read_dictionary();
	assert_int_equal(dict.n_damaged, 4);
	assert_int_equal(dict_stack(&dict, 1, out, &flags), 4);
	assert_memory_equal(out, raw, 4 * sizeof(*raw));
	assert_int_equal(dict_stack(&dict, 2, out, &flags), 4);
	const uint64_t second[] = { raw[4], raw[1], raw[2], raw[3] };
	assert_memory_equal(out, second, sizeof(second));
	const uint64_t third[] = { raw[4], raw[5], raw[2], raw[3] };
	for (uint32_t id = 3; id <= 4; id++) {
		assert_int_equal(dict_stack(&dict, id, out, &flags), 4);
		assert_memory_equal(out, third, sizeof(third));
	}
	assert_int_equal(dict_stack(&dict, 5, out, &flags), 0);
	assert_int_equal(dict_stack(&dict, 7, out, &flags), 1);
}

enum { APPLY = 10, HALVED, HALVED_BACK, DOUBLED, WRAPPER, PLAIN };

static void test_autograd_functions_have_their_class_names(void **state)
{
	(void)state;
	put_code(APPLY, "/v/site-packages/torch/autograd/function.py", "BackwardCFunction.apply",
		 300);
	put_code(HALVED, "/home/u/train.py", "Halved.forward", 10);
	put_code(HALVED_BACK, "/home/u/train.py", "Halved.backward", 20);
	put_code(DOUBLED, "/home/u/train.py", "make.<locals>.Doubled.backward", 30);
	put_code(WRAPPER, "/v/site-packages/torch/amp/autocast_mode.py",
		 "custom_bwd.<locals>.decorate_bwd", 40);
	put_code(PLAIN, "/home/u/train.py", "helper", 50);
	const uint64_t stacks[][3] = {
		{ frame_python(HALVED, 4), frame_python(APPLY, 4) },
		{ frame_python(PLAIN, 4), frame_python(HALVED_BACK, 4), frame_python(APPLY, 4) },
		{ frame_python(DOUBLED, 4), frame_python(WRAPPER, 4), frame_python(APPLY, 4) },
		{ frame_python(HALVED, 4), frame_python(PLAIN, 4) }, /* called by hand */
		{ frame_python(PLAIN, 4), frame_python(APPLY, 4) },
		{ frame_python(HALVED, 6), frame_python(APPLY, 4) },
	};
	static const char *const names[] = { "Halved", "HalvedBackward", "DoubledBackward", "",
					     "",       "Halved" };
	for (uint32_t i = 0; i < 6; i++)
		jb_stack(builder, i + 1, 0, 0, 0, stacks[i], stacks[i][2] ? 3 : 2);
	read_dictionary();
	for (uint32_t i = 0; i < 6; i++)
		assert_string_equal(frames_operator(frames, i + 1, false), names[i]);
	assert_string_equal(frame_operator(frame_at(2, 2)), "HalvedBackward");
	assert_string_equal(frame_operator(frame_at(2, 1)), "");
	assert_string_equal(frame_at(2, 2)->function, "BackwardCFunction.apply");
	assert_ptr_equal(frame_at(1, 1), frame_at(6, 1)); /* equal frames are one */
	assert_ptr_not_equal(frame_at(1, 1), frame_at(2, 2));
}

/* ---- Whose code ---- */

static void test_whose_code_it_is(void **state)
{
	(void)state;
	static const char *const mine[] = {
		"/home/u/train.py",
		"train.py",
		"<string>",
		"<stdin>",
		"/home/u/venv/../train.py",
		"/opt/conda/train.py",
		"/tmp/ipykernel_77/123.py",
		"<ipython-input-3-abc>",
		"/home/u/lib/python/train.py",
		"/home/u/bin/train.py",
	};
	static const char *const library[] = {
		"/v/lib/python3.11/site-packages/torch/nn/modules/linear.py",
		"/usr/lib/python3/dist-packages/numpy/core.py",
		"/usr/lib/python3.11/threading.py",
		"/opt/py/lib/python3.13t/runpy.py",
		"<frozen importlib._bootstrap>",
		"/tmp/torchinductor_u/ab/cab.py",
		"/home/u/venv/bin/torchrun",
		"<eval_with_key>.1",
	};
	static const char *const my_objects[] = { "/home/u/solver", "/home/u/build/libops.so",
						  "/home/u/.cache/torch_extensions/py311/my/my.so",
						  "/home/u/libcudaish.so", "/usr/bin/solver" };
	static const char *const library_objects[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/home/u/libs/libcudart.so.13",
		"/v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so",
		"/usr/bin/python3.11",
		"/home/u/.pyenv/versions/3.11.7/lib/libpython3.11.so.1.0",
		"linux-vdso.so.1",
		"/usr/local/cuda-13.0/lib64/libcublas.so.13",
		"/x/libcublasLt-1a2b.so.13",
	};
#define check(list, function, is)                                   \
	for (size_t i = 0; i < sizeof(list) / sizeof(*(list)); i++) \
		if (function((list)[i]) != (is))                    \
	fail_msg("%s(\"%s\")", #function, (list)[i])
	check(mine, origin_is_python_library, false);
	check(library, origin_is_python_library, true);
	check(my_objects, origin_is_native_library, false);
	check(library_objects, origin_is_native_library, true);
#undef check
	assert_true(origin_is_generated("__create_fn__.<locals>.__init__"));
	assert_false(origin_is_generated("create.<locals>.__init__"));
	assert_true(origin_is_framework("/v/site-packages/torch/optim/adam.py"));
	assert_false(origin_is_framework("/v/site-packages/torchless/train.py"));
	assert_true(origin_is_framework("/usr/lib/python3.11/threading.py"));
	assert_true(origin_is_library_source("/usr/include/c++/12/bits/stl_algo.h"));
	assert_false(origin_is_library_source("/home/u/include/vector.h"));
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_python_frames_and_the_users_line),
		test(test_functions_of_one_line_are_one_site),
		test(test_merge_by_name),
		test(test_stacks_that_share_frames),
		test(test_autograd_functions_have_their_class_names),
		test(test_whose_code_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
