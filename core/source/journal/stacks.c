/* See stacks.h. */
#include "core/source/journal/stacks.h"

#include "core/source/journal/native.h"
#include "core/source/journal/pylines.h"
#include "core/symbols/origin.h"

_Static_assert(STACK_KEYS_MOST >= DICT_FRAMES_MOST, "a journal's stack fits");

struct journal_stacks {
	const struct dict *dict;
	struct native *native;
	struct strtab texts;
};

static struct stack_shape stack(void *context, uint32_t id, uint64_t keys[static STACK_KEYS_MOST])
{
	const struct journal_stacks *s = context;
	uint32_t flags = 0;
	size_t n = dict_stack(s->dict, id, keys, &flags);
	return (struct stack_shape){
		.n = n,
		.is_truncated = flags & (STACK_TRUNCATED | STACK_PYTHON_TRUNCATED),
		.is_by_name = flags & STACK_BY_NAME,
	};
}

static struct source_frame python_frame(const struct dict *d, uint64_t key)
{
	const struct code_entry *code = dict_code(d, key >> 32 & 0x7fffffff);
	struct source_frame to = {
		.frame = { .function = "?",
			   .file = "",
			   .module = "",
			   .kind = FRAME_KIND_PYTHON,
			   .is_library = true },
		.operator= "",
		.stub_of = "",
	};
	if (!code)
		return to;
	if (*strtab_text(&d->t.names, code->name))
		to.frame.function = strtab_text(&d->t.names, code->name);
	to.frame.file = strtab_text(&d->t.names, code->file);
	to.frame.is_library = origin_is_python_library(to.frame.file) ||
			      origin_is_generated(to.frame.function);
	to.frame.line = pylines_line((enum line_table)code->lines, d->tables.at + code->table,
				     code->table_bytes, code->first_line, (uint32_t)key);
	to.first_line = code->first_line;
	return to;
}

static size_t resolve(void *context, uint64_t key, bool is_return,
		      struct source_frame out[static STACK_INLINED_MOST])
{
	struct journal_stacks *s = context;
	if (!(key & FRAME_PYTHON))
		return native_find(s->native, key, is_return, out);
	*out = python_frame(s->dict, key);
	return 1;
}

static const char *diagnostic(void *context, size_t i)
{
	const struct journal_stacks *s = context;
	return native_diagnostic(s->native, i);
}

static void free_stacks(void *context)
{
	struct journal_stacks *s = context;
	native_free(s->native);
	strtab_free(&s->texts);
	free(s);
}

struct stack_source journal_stacks(const struct dict *dict)
{
	struct journal_stacks *s = mem_zero(sizeof(*s));
	s->dict = dict;
	s->native = native_new(dict, &s->texts);
	return (struct stack_source){ .context = s,
				      .stack = stack,
				      .resolve = resolve,
				      .diagnostic = diagnostic,
				      .free = free_stacks };
}
