/*
 * See learn_frames.h. core/symbols/phase_rules.c decides which part of a program a frame belongs
 * to, such as an optimizer or a module.
 */
#include "core/steps/learn_frames.h"

#include "core/steps/levels.h"
#include "core/symbols/origin.h"
#include "core/symbols/phase_rules.h"

#include <string.h>

void learn_frames_free(struct learn_frames *x)
{
	vec_free(&x->codes);
	map_free(&x->hints_of_trigram);
}

/* Accepts qualified function names (from Python 3.11 on) and plain ones. */
static bool is_step(const char *function)
{
	const char *dot = strrchr(function, '.');
	return !strcmp(dot ? dot + 1 : function, "step");
}

static struct learn_code code_of(struct learn_frames *x, const struct dict *d, uint32_t id)
{
	const struct code_entry *code = dict_code(d, id);
	if (!code)
		return (struct learn_code){ .part = PART_NONE };
	while (x->codes.n <= id)
		vec_push(&x->codes, (struct learn_code){ 0 });
	if (!x->codes.at[id].is_known) {
		const struct frame frame = { .function = strtab_text(&d->t.names, code->name),
					     .file = strtab_text(&d->t.names, code->file),
					     .module = "",
					     .kind = FRAME_KIND_PYTHON };
		x->codes.at[id] =
			(struct learn_code){ .is_known = true,
					     .part = phase_rules_match(&frame),
					     .is_user_code = !origin_is_framework(frame.file),
					     .is_step = is_step(frame.function) };
	}
	return x->codes.at[id];
}

/*
 * Returns hints about the optimizer. `codes` are the code objects of a stack's frames, innermost
 * first.
 *
 * The innermost frame with a part other than PART_NONE decides, so a forward pass in an optimizer's
 * closure is not part of the optimizer's step. Other work of the closure, such as printing the
 * loss, is not part of it either: if an optimizer calls code outside the framework (the user's or a
 * trainer's), that code is a closure. If the function of that code is named `step`, it is an
 * optimizer written there.
 */
static uint32_t part_hints(const struct learn_code *codes, size_t n)
{
	bool in_closure = false;
	for (size_t i = 0; i < n; i++) {
		struct learn_code code = codes[i];
		/* Averaging the weights follows the optimizer and belongs to the same step. */
		if ((code.part == PART_OPTIMIZER || code.part == PART_AVERAGE) && !in_closure)
			return LEVEL_NAMED | LEVEL_OPTIMIZER;
		if (code.part != PART_NONE)
			/* PyTorch code, but not an optimizer's */
			return LEVEL_NAMED;
		if (code.is_user_code)
			in_closure = !code.is_step; /* the outermost user frame decides */
	}
	return 0;
}

static uint32_t code_id(uint64_t frame)
{
	return frame >> 32 & 0x7fffffff;
}

static uint32_t hints_of_stack(struct learn_frames *x, const struct dict *d, uint32_t stack)
{
	uint64_t raw[DICT_FRAMES_MOST];
	struct learn_code codes[DICT_FRAMES_MOST];
	uint32_t flags = 0;
	size_t n_python = 0, n = dict_stack(d, stack, raw, &flags);
	for (size_t i = 0; i < n; i++)
		if (raw[i] & FRAME_PYTHON)
			codes[n_python++] = code_of(x, d, code_id(raw[i]));
	return part_hints(codes, n_python);
}

uint32_t learn_frames_hints(struct learn_frames *x, const struct dict *d, uint64_t hash,
			    uint32_t stack)
{
	if (!stack) {
		const uint64_t *known = map_find(&x->hints_of_trigram, hash);
		return known ? (uint32_t)*known : 0;
	}
	bool is_new;
	uint64_t *known = map_at(&x->hints_of_trigram, hash, &is_new);
	uint32_t hints = hints_of_stack(x, d, stack);
	if (is_new)
		*known = hints;
	/* If its stacks differ, the launches are not the optimizer's alone. */
	else if (*known != hints)
		*known = (*known & hints & ~LEARN_FRAMES_DISAGREE) | LEARN_FRAMES_DISAGREE;
	return (uint32_t)*known;
}
