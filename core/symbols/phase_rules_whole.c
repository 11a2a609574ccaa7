/* What whole stacks say about the phase of a step, from what phase_rules.c says of their frames. */
#include "core/symbols/origin.h"
#include "core/symbols/phase_rules.h"

#include <string.h>

static bool is_forward(uint8_t part)
{
	return part == PART_MODULE || part == PART_FUNCTIONAL;
}

/*
 * A module that is called from within a backward pass is computed again, one within a loader transforms data. Within an optimizer's
 * step it is forward all the same: L-BFGS, and Lightning with any optimizer, have the whole pass in a closure there.
 */
static uint8_t within(uint8_t inner, uint8_t outer)
{
	switch (outer) {
	case PART_BACKWARD:
	case PART_WORKER:
		return inner == PART_MODULE ? PART_RECOMPUTE : PART_BACKWARD;
	case PART_LOADER:
	case PART_TO_DEVICE:
	case PART_COMPILE:
		return outer;
	default:
		return inner;
	}
}

static uint8_t add_outer(uint8_t inner, uint8_t outer)
{
	if (inner == PART_NONE || inner == PART_GRAPH)
		return outer == PART_NONE ? inner : outer == PART_WORKER ? PART_BACKWARD : outer;
	if (inner == PART_FUNCTIONAL && outer == PART_MODULE)
		return outer;
	/* a loader that copies its batches itself waits for the next one behind that (accelerate) */
	if (inner == PART_TO_DEVICE && outer == PART_LOADER)
		return outer;
	return is_forward(inner) ? within(inner, outer) : inner;
}

/* Where no Python frames are had: weak evidence, since clipping and averaging use these operators too. */
static uint8_t guess(struct frames *f, uint32_t stack)
{
	static const char *const of_optimizers[] = { "aten::_foreach_", "aten::_fused_" };
	const char *operator= frames_operator(f, stack, true);
	for (size_t i = 0; i < sizeof(of_optimizers) / sizeof(*of_optimizers); i++)
		if (!strncmp(operator, of_optimizers[i], strlen(of_optimizers[i])))
			return PART_OPTIMIZER;
	return *operator? PART_FUNCTIONAL : PART_NONE;
}

/* Code that a part of the step may have been handed to run, as an optimizer its closure: the user's, or a function that a library which is
 * no framework made for the purpose (skorch). */
static bool is_handed_in(const struct frame *frame)
{
	if (frame->kind != FRAME_KIND_PYTHON)
		return false;
	return !frame->is_library ||
	       (strstr(frame->function, ".<locals>.") && !origin_is_framework(frame->file));
}

/* An optimizer's own step, not what PyTorch wraps around any: one that the user wrote stands directly within that. */
static bool runs_closures(const struct frame *frame, uint8_t part)
{
	return part == PART_OPTIMIZER && frame->kind == FRAME_KIND_PYTHON &&
	       !strcmp(phase_rules_last_name(frame->function), "step");
}

struct phase_stack phase_rules_stack(struct frames *f, uint32_t stack)
{
	struct phase_stack found = { .part = PART_NONE, .is_certain = true, .module = "" };
	struct frame_list list = frames_of(f, stack);
	for (size_t i = list.n; i-- > 0 && !*found.module;)
		found.module = phase_rules_module(&list, i);
	bool has_python = false, has_users = false, has_left_forward = false;
	for (size_t i = 0; i < list.n; i++) {
		uint8_t part = frame_phase_part(list.at[i]);
		has_python |= list.at[i]->kind == FRAME_KIND_PYTHON;
		has_users |= is_handed_in(list.at[i]);
		found.is_worker |= part == PART_WORKER;
		if (has_left_forward)
			continue;
		/* the closure's end: what is further out is the optimizer's caller's */
		has_left_forward = is_forward(found.part) && part == PART_OPTIMIZER;
		found.is_closures |= has_left_forward;
		if (part != PART_NONE && found.part == PART_NONE)
			found.is_users = has_users;
		if (found.part == PART_NONE && has_users && runs_closures(list.at[i], part)) {
			found.part = PART_USER;
			found.is_closures = true;
		} else if (part != PART_NONE)
			found.part = add_outer(found.part, part);
	}
	if (found.part != PART_NONE || !list.n)
		return found;
	if (!has_python) {
		found.part = guess(f, stack);
		found.is_certain = false;
	} else if (*frames_operator(f, stack, true)) {
		found.part = PART_USER;
	}
	return found;
}

/* The next frame of Python's further in than `i`, which is one too high at first. */
static const struct frame *next_python(const struct frame_list *list, size_t *i)
{
	while (*i > 0)
		if (list->at[--*i]->kind == FRAME_KIND_PYTHON)
			return list->at[*i];
	return NULL;
}

struct phase_parting phase_rules_parting(struct frames *f, uint32_t stack, uint32_t other)
{
	struct frame_list a = frames_of(f, stack), b = frames_of(f, other);
	struct phase_parting p = { 0 };
	size_t i = a.n, k = b.n;
	for (;;) {
		p.at = next_python(&a, &i);
		p.other = next_python(&b, &k);
		if (!p.at || p.at != p.other)
			break;
		p.is_within_module |= frame_phase_part(p.at) == PART_MODULE;
	}
	p.inner = next_python(&a, &i);
	return p;
}

bool phase_rules_part_by_line(const struct phase_parting *p)
{
	return p->at && p->other && !strcmp(p->at->file, p->other->file) &&
	       !strcmp(p->at->function, p->other->function) && p->at->line != p->other->line;
}

bool phase_rules_is_behind(struct frames *f, uint32_t stack, uint32_t other)
{
	struct phase_parting p = phase_rules_parting(f, stack, other);
	return phase_rules_part_by_line(&p) && p.at->line > p.other->line;
}

/* ---- Modules ---- */

enum {
	BETWEEN_MOST = 8
}; /* Python frames of hooks and decorators between a module's call and its forward() */

const char *phase_rules_module(const struct frame_list *list, size_t i)
{
	const char *name = frame_module_name(list->at[i]);
	size_t between = 0;
	if (!*name)
		return "";
	for (size_t k = i + 1; k < list->n && between < BETWEEN_MOST; k++) {
		if (list->at[k]->kind != FRAME_KIND_PYTHON)
			continue;
		if (frame_phase_part(list->at[k]) == PART_MODULE)
			return name;
		if (*frame_module_name(list->at[k]))
			break;
		between++;
	}
	return "";
}
