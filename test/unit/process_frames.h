/*
 * A journal made from this process: return addresses of a small C++ object (shapes.cpp) and made-up
 * Python code. Included by the one file that is the test program.
 */
#ifndef TEST_UNIT_PROCESS_FRAMES_H
#define TEST_UNIT_PROCESS_FRAMES_H

#include "core/source/journal/reader.h"
#include "core/source/journal/stacks.h"
#include "core/symbols/frames.h"
#include "test/unit/journal_builder.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define SHAPES 1 /* the module's id */

static char journal_path[64];
static struct journal_builder *builder;
static struct dict dict;
static struct frames *frames;

static inline int set_up(void **state)
{
	(void)state;
	snprintf(journal_path, sizeof(journal_path), "/tmp/test-frames-%d.journal", (int)getpid());
	builder = jb_new(2, 1024);
	return 0;
}

static inline void forget_dictionary(void)
{
	frames_free(frames);
	frames = NULL;
	dict_free(&dict);
	dict = (struct dict){ 0 };
}

static inline int tear_down(void **state)
{
	(void)state;
	forget_dictionary();
	jb_free(builder);
	unlink(journal_path);
	return 0;
}

static inline void read_dictionary(void)
{
	struct reader r;
	struct err e;
	const struct dict_head *record;
	jb_write(builder, journal_path);
	assert_int_equal(reader_open(&r, journal_path, false, &e), 0);
	while ((record = reader_next_dictionary(&r, true)))
		dict_add(&dict, record);
	reader_close(&r);
	frames = frames_new(journal_stacks(&dict), &dict.t);
}

static inline void folder_of_test(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	assert_true(n > 0);
	path[n] = 0;
	dirname(path);
}

static inline const uint8_t *build_id_of(const struct dl_phdr_info *info, uint32_t *bytes)
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

static inline int note_module(struct dl_phdr_info *info, size_t size, void *to)
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

static inline struct wanted load(const char *name, void **handle)
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

static __attribute__((noinline, unused)) void take_stack(void)
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

/*
 * Calls `function` of the object, which calls back. The stack and its module get id 1 in the
 * journal.
 */
static inline struct wanted stack_of(const char *object, const char *function)
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

static inline const struct frame *frame_at(uint32_t stack, size_t i)
{
	struct frame_list list = frames_of(frames, stack);
	assert_true(i < list.n);
	return list.at[i];
}

static inline const struct frame *find_function(uint32_t stack, const char *function)
{
	struct frame_list list = frames_of(frames, stack);
	for (size_t i = 0; i < list.n; i++)
		if (!strcmp(list.at[i]->function, function))
			return list.at[i];
	return NULL;
}

/* ---- Python ---- */

enum { TRAIN = 1, LAYER, ELSEWHERE, STRING };

static inline void put_code(uint32_t id, const char *file, const char *name, uint32_t first_line)
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

static inline void put_python(void)
{
	put_code(TRAIN, "/home/u/train.py", "step", 40);
	put_code(LAYER, "/v/lib/python3.11/site-packages/torch/nn/linear.py", "Linear.forward",
		 120);
	put_code(ELSEWHERE, "/v/lib/python3.11/site-packages/theirs/model.py", "fit", 7);
	put_code(STRING, "<string>", "<module>", 1);
}

#endif
