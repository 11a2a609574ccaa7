/* See loop_code.h. core/symbols/phase_rules.c decides what a function is for. */
#include "core/steps/loop_code.h"

#include "core/steps/loop_stacks.h"
#include "core/symbols/origin.h"
#include "core/symbols/phase_rules.h"

#include <string.h>

/* Returns whether the file belongs to PyTorch. None of its loops is a loop of steps. */
static bool is_torch(const char *file)
{
	return strstr(file, "-packages/torch/") != NULL;
}

static uint8_t is_of_part(uint8_t part)
{
	switch (part) {
	case PART_OPTIMIZER:
		return LOOP_FRAME_STEP;
	case PART_ZERO_GRAD:
		return LOOP_FRAME_ZERO;
	case PART_MODULE:
		return LOOP_FRAME_FORWARD;
	case PART_LOADER:
	case PART_AWAITED:
		return LOOP_FRAME_INPUT;
	default:
		return 0;
	}
}

uint8_t loop_code_is(const struct dict *d, uint32_t id)
{
	const struct code_entry *code = dict_code(d, id);
	if (!code)
		return 0;
	const struct frame frame = { .function = strtab_text(&d->t.names, code->name),
				     .file = strtab_text(&d->t.names, code->file),
				     .module = "",
				     .kind = FRAME_KIND_PYTHON };
	return is_of_part(phase_rules_match(&frame)) |
	       (origin_is_python_library(frame.file) ? LOOP_FRAME_LIBRARY : 0) |
	       (is_torch(frame.file) ? LOOP_FRAME_FRAMEWORK : 0);
}

struct flow *loop_code_flow(const struct dict *d, uint32_t id)
{
	const struct code_entry *code = dict_code(d, id);
	if (!code || !code->bytecode_bytes)
		return NULL;
	const uint8_t *bytecode = d->tables.at + code->bytecode;
	return flow_of_python(&(struct flow_bytecode){
		.code = bytecode,
		.bytes = code->bytecode_bytes,
		.exceptions = bytecode + code->bytecode_bytes,
		.exceptions_bytes = code->exceptions_bytes,
		.version = code->python,
	});
}
