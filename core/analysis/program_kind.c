#include "core/analysis/program_kind.h"

#include <string.h>

static bool is_torch_module(const char *module)
{
	static const char *const names[] = { "libtorch", "libc10" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(module, names[i], strlen(names[i])))
			return true;
	return false;
}

static void add_stack(struct program_kind *kind, struct frames *frames, uint32_t stack)
{
	struct frame_list list = frames_of(frames, stack);
	for (size_t i = 0; i < list.n; i++) {
		const struct frame *frame = list.at[i];
		kind->is_python |= frame->kind == FRAME_KIND_PYTHON;
		kind->is_torch |= frame->kind == FRAME_KIND_PYTHON
					  ? strstr(frame->file, "-packages/torch/") != NULL
					  : is_torch_module(frame->module);
	}
}

struct program_kind program_kind_of(const struct timeline *t)
{
	const char *python = t->tables ? tables_fact(t->tables, "python") : NULL;
	struct program_kind kind = { .is_python = python && *python };
	for (size_t i = 0; t->frames && i < t->stack_of.room; i++)
		if (t->stack_of.slots[i].used)
			add_stack(&kind, t->frames, (uint32_t)t->stack_of.slots[i].key);
	return kind;
}
