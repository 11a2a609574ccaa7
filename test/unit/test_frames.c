/*
 * Stacks made readable: real return addresses of a small C++ object (shapes.cpp), made-up Python code, and what a damaged journal
 * or file does to them.
 */
#include "core/demangle.h"
#include "core/frames.h"
#include "core/operators.h"
#include "core/origin.h"
#include "core/reader.h"
#include "test/unit/journal_builder.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- A journal made of what this process has ---- */

#define SHAPES 1 /* the module's id */

static char journal_path[64];
static struct journal_builder *builder;
static struct dict dict;
static struct frames *frames;

static int set_up(void **state)
{
	(void)state;
	snprintf(journal_path, sizeof(journal_path), "/tmp/test-frames-%d.journal", (int)getpid());
	builder = jb_new(2, 1024);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	frames_free(frames);
	frames = NULL;
	dict_free(&dict);
	dict = (struct dict){ 0 };
	jb_free(builder);
	unlink(journal_path);
	return 0;
}

static void read_dictionary(void)
{
	struct reader r;
	struct err e;
	const struct dict_head *record;
	jb_write(builder, journal_path);
	assert_int_equal(reader_open(&r, journal_path, false, &e), 0);
	while ((record = reader_next_dictionary(&r, true)))
		dict_add(&dict, record);
	reader_close(&r);
	frames = frames_new(&dict);
}

static void folder_of_test(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	assert_true(n > 0);
	path[n] = 0;
	dirname(path);
}

static const uint8_t *build_id_of(const struct dl_phdr_info *info, uint32_t *bytes)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)info->dlpi_addr + p->p_vaddr;
		const uint8_t *end = at + p->p_memsz;
		while (p->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
			const uint8_t *name = at + sizeof(*note);
			const uint8_t *body = name + ((note->n_namesz + 3) & ~3u);
			if (note->n_type == NT_GNU_BUILD_ID && !memcmp(name, "GNU", 4)) {
				*bytes = note->n_descsz;
				return body;
			}
			at = body + ((note->n_descsz + 3) & ~3u);
		}
	}
	return NULL;
}

struct wanted {
	const char *path;
	struct dict_module module;
};

static int note_module(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	struct wanted *w = to;
	if (strcmp(info->dlpi_name, w->path) != 0)
		return 0;
	struct dict_module *m = &w->module;
	*m = (struct dict_module){ .id = SHAPES,
				   .base = info->dlpi_addr,
				   .begin = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD)
			m->end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	const uint8_t *id = build_id_of(info, &m->build_id_bytes);
	if (id)
		memcpy(m->build_id, id, m->build_id_bytes);
	return 1;
}

static struct wanted load(const char *name, void **handle)
{
	static char path[PATH_MAX + 32];
	char folder[PATH_MAX];
	folder_of_test(folder);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	struct wanted w = { .path = path };
	*handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(*handle);
	assert_int_equal(dl_iterate_phdr(note_module, &w), 1);
	return w;
}

/* What the last call back saw, return addresses, as frames of SHAPES where they lie in it. */
static struct {
	uint64_t base, begin, end;
	uint64_t frames[64];
	uint16_t n;
} seen;

static __attribute__((noinline)) void take_stack(void)
{
	void *addresses[64];
	int n = backtrace(addresses, 64);
	seen.n = 0;
	for (int i = 1; i < n; i++) { /* 0: this function */
		uint64_t at = (uint64_t)addresses[i];
		if (at >= seen.begin && at < seen.end)
			seen.frames[seen.n++] = frame_native(SHAPES, at - seen.base);
	}
}

/* Calls `function` of the object, which calls back; the stack and its module become id 1 of the journal. */
static struct wanted stack_of(const char *object, const char *function)
{
	void *handle;
	struct wanted w = load(object, &handle);
	seen.base = w.module.base;
	seen.begin = w.module.begin;
	seen.end = w.module.end;
	void (*call)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(handle, function);
	assert_non_null(call);
	call(take_stack);
	assert_true(seen.n > 0);
	dlclose(handle);
	return w;
}

static const struct frame *frame_at(uint32_t stack, size_t i)
{
	struct frame_list list = frames_of(frames, stack);
	assert_true(i < list.n);
	return list.at[i];
}

static const struct frame *find_function(uint32_t stack, const char *function)
{
	struct frame_list list = frames_of(frames, stack);
	for (size_t i = 0; i < list.n; i++)
		if (!strcmp(list.at[i]->function, function))
			return list.at[i];
	return NULL;
}

/* ---- Native names ---- */

static void test_names_of_functions(void **state)
{
	(void)state;
	struct wanted w = stack_of("shapes.so", "shapes_names");
	jb_module(builder, &w.module, w.path);
	jb_stack(builder, 7, 0, 0, 0, seen.frames, seen.n);
	read_dictionary();
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
	assert_null(frames_remark(frames, 0));
}

/* Each frame's line is the one that bears its mark, the inlined function stands inside of the one it is in. */
static void test_lines_and_inlined_functions(void **state)
{
	(void)state;
	struct wanted w = stack_of("shapes.so", "shapes_names");
	jb_module(builder, &w.module, w.path);
	jb_stack(builder, 7, 0, 0, 0, seen.frames, seen.n);
	read_dictionary();
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
	struct wanted w = stack_of("shapes_stripped.so", "shapes_names");
	jb_module(builder, &w.module, w.path);
	jb_stack(builder, 1, 0, 0, 0, seen.frames, seen.n);
	read_dictionary();
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
	assert_non_null(strstr(frames_remark(frames, 0), "shapes.so"));
	assert_non_null(strstr(frames_remark(frames, 0), "changed"));
	assert_null(frames_remark(frames, 1));
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
	struct wanted w = stack_of("shapes.so", "shapes_launch");
	jb_module(builder, &w.module, w.path);
	jb_stack(builder, 1, 0, 0, 0, seen.frames, seen.n);
	read_dictionary();
	assert_true(find_function(1, "scale")->is_library);
	assert_string_equal(frames_site_at(frames, frames_site(frames, 1))->function,
			    "shapes_launch");
}

/* ---- Operators ---- */

static void test_operators_around_a_call(void **state)
{
	(void)state;
	struct wanted w = stack_of("shapes.so", "shapes_operators");
	jb_module(builder, &w.module, w.path);
	jb_stack(builder, 1, 0, 0, 0, seen.frames, seen.n);
	read_dictionary();
	const char *names[8];
	assert_string_equal(frames_operator(frames, 1, false), "aten::add_");
	assert_string_equal(frames_operator(frames, 1, true), "aten::linear");
	assert_int_equal(frames_operators(frames, 1, names, 8), 2);
	assert_string_equal(names[0], "aten::linear");
	assert_string_equal(names[1], "aten::add_");
	assert_int_equal(frames_operators(frames, 1, names, 1), 1);
	assert_string_equal(frames_operator(frames, 99, false), "");
}

/* A thread of autograd's: nothing of the user's and no Python. The object is taken for a library by its folder's name. */
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

/* ---- Python, sites, stacks ---- */

enum { TRAIN = 1, LAYER, ELSEWHERE, STRING };

static void put_code(uint32_t id, const char *file, const char *name, uint32_t first_line)
{
	jb_string(builder, 100 + 2 * id, file);
	jb_string(builder, 101 + 2 * id, name);
	struct dict_code code = { .id = id,
				  .file = 100 + 2 * id,
				  .name = 101 + 2 * id,
				  .first_line = first_line,
				  .lines = LINES_LNOTAB,
				  .table_bytes = 4 };
	jb_code(builder, &code, "\x0a\x02\x0a\x03"); /* from byte 10 two lines on, from 20 five */
}

static void put_python(void)
{
	put_code(TRAIN, "/home/u/train.py", "step", 40);
	put_code(LAYER, "/v/lib/python3.11/site-packages/torch/nn/linear.py", "Linear.forward",
		 120);
	put_code(ELSEWHERE, "/v/lib/python3.11/site-packages/theirs/model.py", "fit", 7);
	put_code(STRING, "<string>", "<module>", 1);
}

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

/* Python frames behind the native ones, one for each of the evaluator's: they go where it stands. */
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
	assert_true(origin_is_framework("/v/site-packages/torch/optim/adam.py"));
	assert_false(origin_is_framework("/v/site-packages/torchless/train.py"));
	assert_true(origin_is_framework("/usr/lib/python3.11/threading.py"));
	assert_true(origin_is_library_source("/usr/include/c++/12/bits/stl_algo.h"));
	assert_false(origin_is_library_source("/home/u/include/vector.h"));
}

/* ---- Names ---- */

static void check_brief(const char *mangled, const char *brief)
{
	char *is = demangle_function(mangled);
	assert_string_equal(is, brief);
	free(is);
}

static void test_brief_names(void **state)
{
	(void)state;
	check_brief("main", "main");
	check_brief("_Z4worki.cold", "work");
	check_brief("_Z4worki.constprop.0.isra.1", "work");
	check_brief("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size");
	check_brief("_Z7genericIfEvPT_", "generic<float>");
	check_brief("_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work");
	check_brief("_ZN1AcviEv", "A::operator int");
	check_brief("_ZN1AclEi", "A::operator()");
	check_brief("_ZN1AltERKS_", "A::operator<");
	check_brief("_ZN1AlsIiEERS_T_", "A::operator<< <int>");
	check_brief("_ZN1AptEv", "A::operator->");
	check_brief("_Znwm", "operator new");
	check_brief("_ZZ4workiENKUliE_clEi", "work::{lambda(int)#1}::operator()");
	check_brief("_Z1fPFviE", "f");
	check_brief("_Z1fIiEPFvT_EOS0_", "void (*f<int>(int&&))(int)"); /* stays whole */
	check_brief("_Z3fooILi3EEDTcl1gEEv", "foo<3>");
	check_brief("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check_brief("_ZN41_$LT$alloc..Vec$LT$T$GT$$u20$as$u20$A$GT$4drop17h0123456789abcdefE",
		    "<alloc::Vec<T> as A>::drop");
	check_brief("_ZN4work16h0123456789abcdeE", "work::h0123456789abcde"); /* C++ after all */
	check_brief("_RINvNtCs1234_1t5inner7genericlhE", "t::inner::generic::<i32, u8>");
	check_brief("_RNvXs_C1tINtB4_2SqfKj3_ENtB4_5Shape4area",
		    "<t::Sq<f32, 3> as t::Shape>::area");
	check_brief("_RNCNvC1t4main0B3_", "t::main::{closure#0}");
	check_brief("_RNvC1t4mai", "_RNvC1t4mai");
	char name[] = "a::b<c<d>, e>::call<operator<long_name_here>";
	demangle_shorten(name, 8);
	assert_string_equal(name, "a::b<...>::call<...>");
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
		frames_free(frames);
		frames = NULL;
		dict_free(&dict);
		dict = (struct dict){ 0 };
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
		frames_free(frames);
		frames = NULL;
		dict_free(&dict);
		dict = (struct dict){ 0 };
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
		test(test_python_frames_and_the_users_line),
		test(test_merge_by_name),
		test(test_stacks_that_share_frames),
		test(test_whose_code_it_is),
		test(test_brief_names),
		test(test_source_lines),
		test(test_survives_a_damaged_dictionary),
		test(test_survives_damaged_objects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
