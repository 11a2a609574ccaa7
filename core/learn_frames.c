/* See learn_frames.h. What a frame is part of stands in core/phase_rules.c. */
#include "core/learn_frames.h"

#include "core/levels.h"
#include "core/phase_rules.h"

void learn_frames_free(struct learn_frames *x)
{
	vec_free(&x->part_of_code);
	map_free(&x->hints_of_trigram);
}

static uint8_t part_of_code(struct learn_frames *x, const struct dict *d, uint32_t id)
{
	const struct code_entry *code = dict_code(d, id);
	if (!code)
		return PART_NONE;
	while (x->part_of_code.n <= id)
		vec_push(&x->part_of_code, 0);
	if (!x->part_of_code.at[id]) {
		const struct frame frame = { .function = strtab_text(&d->names, code->name),
					     .file = strtab_text(&d->names, code->file),
					     .module = "",
					     .kind = FRAME_KIND_PYTHON };
		x->part_of_code.at[id] = (uint8_t)(phase_rules_match(&frame) + 1);
	}
	return x->part_of_code.at[id] - 1;
}

/* The innermost frame that is part of anything decides: a closure's forward pass within an optimizer's step is none of it. */
static uint32_t hints_of_stack(struct learn_frames *x, const struct dict *d, uint32_t stack)
{
	uint64_t raw[DICT_FRAMES_MOST];
	uint32_t flags;
	size_t n = dict_stack(d, stack, raw, &flags);
	for (size_t i = 0; i < n; i++) {
		if (!(raw[i] & FRAME_PYTHON))
			continue;
		uint8_t part = part_of_code(x, d, raw[i] >> 32 & 0x7fffffff);
		if (part == PART_OPTIMIZER)
			return LEVEL_NAMED | LEVEL_FRAMED | LEVEL_OPTIMIZER;
		if (part != PART_NONE)
			return LEVEL_NAMED |
			       LEVEL_FRAMED; /* PyTorch: an optimizer would have been told */
	}
	return 0;
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
	/* where two stacks disagree the launches are not the optimizer's alone */
	*known = is_new ? hints : *known & hints;
	return (uint32_t)*known;
}
