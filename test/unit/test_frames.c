/*
 * Readable stacks: names, lines and operators of real return addresses, and the effects of a
 * damaged journal or file.
 */
#include "core/symbols/operators.h"
#include "test/unit/process_frames.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Reads a journal with one stack, by number `id`, that passes through `function` of `object`. */
static void read_stack_of(const char *object, const char *function, uint32_t id)
{
	struct wanted w = stack_of(object, function);
	jb_module(builder, &w.module, w.path);
	jb_stack(builder, id, 0, 0, 0, seen.frames, seen.n);
	read_dictionary();
}

/* ---- Native names ---- */

static void test_names_of_functions(void **state)
{
	(void)state;
	read_stack_of("shapes.so", "shapes_names", 7);
	static const char *const names[] = { "shapes::generic<long>", "shapes::hidden",
					     "shapes::outer", "shapes_names" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct frame *f = find_function(7, names[i]);
		assert_non_null(f);
		assert_int_equal(f->kind, FRAME_KIND_NATIVE);
		assert_string_equal(f->module, "shapes.so");
		assert_false(f->is_library);
	}
	assert_string_equal(frame_at(7, 0)->function, "shapes::generic<long>");
	assert_null(frames_diagnostic(frames, 0));
}

/*
 * Each frame's line is the one with its mark. An inlined function comes inside the one that it is
 * inlined into.
 */
static void test_lines_and_inlined_functions(void **state)
{
	(void)state;
	read_stack_of("shapes.so", "shapes_names", 7);
	static const struct {
		const char *function, *mark;
		bool is_inlined;
	} expected[] = {
		{ "shapes::generic<long>", "// line: generic", false },
		{ "shapes::hidden", "// line: hidden", false },
		{ "shapes::inlined", "// line: inlined", true },
		{ "shapes::outer", "// line: outer", false },
		{ "shapes_names", "// line: names", false },
	};
	assert_int_equal(frames_of(frames, 7).n, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct frame *f = frame_at(7, i);
		assert_string_equal(f->function, expected[i].function);
		assert_int_equal(f->is_inlined, expected[i].is_inlined);
		assert_non_null(strstr(f->file, "/test/unit/shapes.cpp"));
		assert_non_null(strstr(frames_source(frames, f->file, f->line), expected[i].mark));
	}
	const struct site *site = frames_site_at(frames, frames_site(frames, 7));
	assert_true(site->is_user && site->line == frame_at(7, 0)->line);
}

/* Only exported names are left: what lies between them must not be called by the nearest one's. */
static void test_stripped_object(void **state)
{
	(void)state;
	read_stack_of("shapes_stripped.so", "shapes_names", 1);
	char expected[64];
	snprintf(expected, sizeof(expected), "shapes_stripped.so+0x%llx",
		 (unsigned long long)(seen.frames[0] & 0xffffffffffff));
	assert_string_equal(frame_at(1, 0)->function, expected);
	assert_non_null(find_function(1, "shapes::outer"));
	assert_null(find_function(1, "shapes::hidden"));
}

static void test_object_without_build_id(void **state)
{
	(void)state;
	struct wanted w = stack_of("shapes_no_id.so", "shapes_names");
	assert_int_equal(w.module.build_id_bytes, 0);
	jb_module(builder, &w.module, w.path);
	w.module.id = 2;
	w.module.end += 1 << 20; /* not this file's size */
	jb_module(builder, &w.module, w.path);
	jb_stack(builder, 1, 0, 0, 0, seen.frames, seen.n);
	uint64_t other = frame_native(2, seen.frames[0] & 0xffffffffffff);
	jb_stack(builder, 2, 0, 0, 0, &other, 1);
	read_dictionary();
	assert_string_equal(frame_at(1, 0)->function, "shapes::generic<long>");
	assert_non_null(strstr(frame_at(2, 0)->function, "shapes_no_id.so+0x"));
}

static void test_changed_object(void **state)
{
	(void)state;
	struct wanted w = stack_of("shapes.so", "shapes_names");
	w.module.build_id[3] ^= 1;
	jb_module(builder, &w.module, w.path);
	jb_stack(builder, 1, 0, 0, 0, seen.frames, seen.n);
	read_dictionary();
	assert_non_null(strstr(frame_at(1, 0)->function, "shapes.so+0x"));
	assert_non_null(strstr(frames_diagnostic(frames, 0), "shapes.so"));
	assert_non_null(strstr(frames_diagnostic(frames, 0), "changed"));
	assert_null(frames_diagnostic(frames, 1));
}

static void test_code_without_a_file(void **state)
{
	(void)state;
	struct dict_module gone = { .id = 1, .base = 0x1000, .end = 0x9000 };
	struct dict_module vdso = { .id = 2 };
	jb_module(builder, &gone, "/nowhere/libmine.so (deleted)");
	jb_module(builder, &vdso, "[vdso]");
	const uint64_t raw[] = { frame_native(1, 0x20), frame_native(2, 0x30),
				 frame_native(0, 0x7f0000001234), frame_native(9, 0x40) };
	jb_stack(builder, 1, 0, 0, 0, raw, 4);
	read_dictionary();
	assert_string_equal(frame_at(1, 0)->function, "libmine.so+0x20");
	assert_false(frame_at(1, 0)->is_library);
	assert_string_equal(frame_at(1, 1)->function, "[vdso]+0x30");
	assert_string_equal(frame_at(1, 2)->function, "0x7f0000001234");
	assert_true(frame_at(1, 2)->is_library);
	assert_true(frame_at(1, 3)->is_library);
}

static void test_own_frames_never_show(void **state)
{
	(void)state;
	struct dict_module own = { .id = 1 }, other = { .id = 2 };
	jb_module(builder, &own, "/opt/profrun/libprofrun.so");
	jb_module(builder, &other, "/home/u/solver");
	const uint64_t raw[] = { frame_native(1, 0x20), frame_native(2, 0x30) };
	jb_stack(builder, 1, 0, 0, 0, raw, 2);
	jb_stack(builder, 2, 0, 0, 0, raw, 1);
	read_dictionary();
	assert_int_equal(frames_of(frames, 1).n, 1);
	assert_string_equal(frame_at(1, 0)->function, "solver+0x30");
	assert_int_equal(frames_of(frames, 2).n, 0);
	assert_int_equal(frames_site(frames, 2), 0);
}

static void test_kernel_stubs_are_no_lines(void **state)
{
	(void)state;
	read_stack_of("shapes.so", "shapes_launch", 1);
	assert_true(find_function(1, "scale")->is_library);
	assert_string_equal(frames_site_at(frames, frames_site(frames, 1))->function,
			    "shapes_launch");
}

/* ---- Operators ---- */

static void test_operators_around_a_call(void **state)
{
	(void)state;
	read_stack_of("shapes.so", "shapes_operators", 1);
	const char *names[8];
	assert_string_equal(frames_operator(frames, 1, false), "aten::add_");
	assert_string_equal(frames_operator(frames, 1, true), "aten::linear");
	assert_int_equal(frames_operators(frames, 1, names, 8), 2);
	assert_string_equal(names[0], "aten::linear");
	assert_string_equal(names[1], "aten::add_");
	assert_int_equal(frames_operators(frames, 1, names, 1), 1);
	assert_string_equal(frames_operator(frames, 99, false), "");
}

/*
 * An autograd thread: nothing of the user's and no Python. The object counts as a library because
 * of its folder's name.
 */
static void test_site_of_an_operator(void **state)
{
	(void)state;
	struct wanted w = stack_of("shapes.so", "shapes_operators");
	char folder[] = "/tmp/test-frames-XXXXXX", path[128], package[64];
	assert_non_null(mkdtemp(folder));
	snprintf(package, sizeof(package), "%s/site-packages", folder);
	snprintf(path, sizeof(path), "%s/shapes.so", package);
	assert_int_equal(mkdir(package, 0700), 0);
	assert_int_equal(symlink(w.path, path), 0);
	jb_module(builder, &w.module, path);
	jb_stack(builder, 1, 0, 0, 0, seen.frames, seen.n);
	read_dictionary();
	const struct site *site = frames_site_at(frames, frames_site(frames, 1));
	assert_string_equal(site->function, "aten::linear");
	assert_string_equal(site->file, "");
	assert_false(site->is_user);
	unlink(path);
	rmdir(package);
	rmdir(folder);
}

static void test_operators_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *function, *name;
	} cases[] = {
		{ "at::_ops::add_Tensor::call", "aten::add" },
		{ "at::_ops::add__Tensor::redispatch", "aten::add_" },
		{ "at::_ops::sum_dim_IntList::call", "aten::sum" },
		{ "at::_ops::_to_copy::call", "aten::_to_copy" },
		{ "at::_ops::native_layer_norm::call", "aten::native_layer_norm" },
		{ "at::_ops::_local_scalar_dense::call", "aten::_local_scalar_dense" },
		{ "at::_ops::_foreach_addcdiv__ScalarList::call", "aten::_foreach_addcdiv_" },
		{ "at::_ops::__and___Scalar::call", "aten::__and__" },
		{ "at::_ops::_fused_adam__tensor_lr::call", "aten::_fused_adam_" },
		{ "at::_ops::threshold_backward_grad_input::call", "aten::threshold_backward" },
		{ "at::_ops::_softmax_backward_data::call", "aten::_softmax_backward_data" },
		{ "at::_ops::item::call", "aten::item" },
		{ "at::_ops::matrix_H::call", "aten::matrix_H" },
		{ "torch::autograd::generated::AddmmBackward0::apply", "AddmmBackward0" },
		{ "torch::autograd::AccumulateGrad::apply", "torch::autograd::AccumulateGrad" },
		{ "c10d::ProcessGroupNCCL::allreduce", "c10d::allreduce" },
		{ "c10::impl::make_boxed_from_unboxed_functor<c10::impl::detail::"
		  "WrapFunctionIntoFunctor_<c10::CompileTimeFunctionPointer<at::Tensor (at::Tensor "
		  "const&, at::Tensor const&, double), &vision::ops::(anonymous "
		  "namespace)::nms_kernel>, at::Tensor, c10::guts::typelist::typelist<at::Tensor "
		  "const&, at::Tensor const&, double> >, false>::call",
		  "vision::ops::nms_kernel" },
	};
	static const char *const none[] = {
		"at::_ops::add_Tensor::callback",
		"at::native::add",
		"main",
		"",
		"torch::autograd::Engine::evaluate_function",
		"c10d::ProcessGroupNCCL::collective",
		"c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::"
		"WrapFunctionIntoFunctor_<"
		"c10::CompileTimeFunctionPointer<at::Tensor (at::Tensor const&), &at::(anonymous "
		"namespace)::wrapper_CUDA_relu>, at::Tensor> >::call",
	};
	char name[64];
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(operator_name(cases[i].function, name, sizeof(name)));
		assert_string_equal(name, cases[i].name);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_false(operator_name(none[i], name, sizeof(name)));
}

/* ---- Source lines ---- */

static void test_source_lines(void **state)
{
	(void)state;
	char path[] = "/tmp/test-frames-source-XXXXXX";
	int fd = mkstemp(path);
	static const char text[] = "first\n\t  x = y.item()  \r\n\nlast";
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	jb_info(builder, "cwd", "/tmp");
	read_dictionary();
	assert_string_equal(frames_source(frames, path, 2), "x = y.item()");
	assert_string_equal(frames_source(frames, path + 5, 4), "last"); /* below cwd */
	unlink(path);
	assert_string_equal(frames_source(frames, path, 1), "first"); /* read once */
	assert_string_equal(frames_source(frames, path, 3), "");
	assert_string_equal(frames_source(frames, path, 5), "");
	assert_string_equal(frames_source(frames, path, 0), "");
	assert_string_equal(frames_source(frames, "/nowhere/at/all.py", 1), "");
	assert_string_equal(frames_source(frames, "/dev/zero", 1), "");
	assert_string_equal(frames_source(frames, "<string>", 1), "");
	assert_string_equal(frames_source(frames, "", 1), "");
}

/* ---- Damage ---- */

static void resolve_everything(void)
{
	for (uint32_t id = 0; id < 20; id++) {
		struct frame_list list = frames_of(frames, id);
		for (size_t i = 0; i < list.n; i++)
			assert_true(strlen(list.at[i]->function) > 0 && list.at[i]->file &&
				    list.at[i]->module);
		assert_true(frames_site(frames, id) <= frames_n_sites(frames));
	}
}

/* 1,000 dictionaries with up to 8 bytes changed each among the records of stacks. */
static void test_survives_a_damaged_dictionary(void **state)
{
	(void)state;
	struct wanted w = stack_of("shapes.so", "shapes_names");
	size_t from = builder->header->dictionary_offset + builder->header->dictionary_used_bytes;
	jb_module(builder, &w.module, w.path);
	put_python();
	uint64_t raw[] = { seen.frames[0], frame_python(LAYER, 4), frame_python(TRAIN, 24) };
	for (uint32_t id = 1; id < 16; id++)
		jb_stack(builder, id, id - 1, id > 1 ? 2 : 0, id % 8, raw, 3);
	size_t to = builder->header->dictionary_offset + builder->header->dictionary_used_bytes;
	uint8_t *good = mem_resize(NULL, builder->size);
	memcpy(good, builder->bytes, builder->size);
	srand(20261122);
	for (int round = 0; round < 1000; round++) {
		for (int i = rand() % 8; i >= 0; i--)
			builder->bytes[from + (size_t)rand() % (to - from)] = (uint8_t)rand();
		read_dictionary();
		resolve_everything();
		forget_dictionary();
		memcpy(builder->bytes, good, builder->size);
	}
	free(good);
}

static uint8_t *read_file(const char *path, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	*bytes = (size_t)st.st_size;
	uint8_t *text = mem_resize(NULL, *bytes);
	assert_int_equal(read(fd, text, *bytes), st.st_size);
	close(fd);
	return text;
}

static void write_file(const char *path, const uint8_t *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

/* The object cut at 100 places, and 300 times with bytes changed: any answer but a crash. */
static void test_survives_damaged_objects(void **state)
{
	(void)state;
	struct wanted w = stack_of("shapes.so", "shapes_names");
	char path[64];
	size_t bytes;
	uint8_t *good = read_file(w.path, &bytes), *bad = mem_resize(NULL, bytes);
	snprintf(path, sizeof(path), "/tmp/test-frames-%d.so", (int)getpid());
	jb_module(builder, &w.module, path);
	jb_stack(builder, 1, 0, 0, 0, seen.frames, seen.n);
	srand(20261123);
	for (int round = 0; round < 400; round++) {
		memcpy(bad, good, bytes);
		size_t length = round < 100 ? bytes * (size_t)round / 100 : bytes;
		for (int i = 0; round >= 100 && i < 1 + round % 40; i++) {
			/* headers first and last, which everything else hangs on */
			size_t near = (size_t)rand() % 2048, where = (size_t)rand() % 3;
			size_t at = where == 0	 ? near
				    : where == 1 ? bytes - 1 - near
						 : (size_t)rand() % bytes;
			bad[at] = (uint8_t)rand();
		}
		write_file(path, bad, length);
		read_dictionary();
		resolve_everything();
		forget_dictionary();
	}
	unlink(path);
	free(good);
	free(bad);
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_names_of_functions),
		test(test_lines_and_inlined_functions),
		test(test_stripped_object),
		test(test_object_without_build_id),
		test(test_changed_object),
		test(test_code_without_a_file),
		test(test_own_frames_never_show),
		test(test_kernel_stubs_are_no_lines),
		test(test_operators_around_a_call),
		test(test_site_of_an_operator),
		test(test_operators_by_name),
		test(test_source_lines),
		test(test_survives_a_damaged_dictionary),
		test(test_survives_damaged_objects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
