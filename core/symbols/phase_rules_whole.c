/* Derives the phase of a whole stack from the parts that phase_rules.c gives its frames. */
#include "core/symbols/origin.h"
#include "core/symbols/phase_rules.h"
#include "core/symbols/stack_about.h"

#include <string.h>

static bool is_forward(uint8_t part)
{
	return part == PART_MODULE || part == PART_FUNCTIONAL;
}

/*
 * Returns the part of a forward frame `inner` that was called within `outer`. A module that is
 * called within a backward pass is recomputed. A module that is called within a data loader
 * transforms data. A module that is called within an optimizer's step() is still forward, because
 * L-BFGS, and Lightning with any optimizer, run the whole forward and backward pass in a closure
 * that step() calls.
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
	case PART_METRIC: /* a metric may run a model, such as a FID's */
		return outer;
	default:
		return inner;
	}
}

/* Returns the part of the frames so far, of which `inner` is the part, together with the next frame
 * outwards, of which `outer` is the part. */
static uint8_t add_outer(uint8_t inner, uint8_t outer)
{
	if (inner == PART_NONE || inner == PART_GRAPH)
		return outer == PART_NONE ? inner : outer == PART_WORKER ? PART_BACKWARD : outer;
	if (inner == PART_FUNCTIONAL && outer == PART_MODULE)
		return outer;
	/* a module that averages something in its forward pass, such as a codebook */
	if (inner == PART_AVERAGE && outer == PART_MODULE)
		return outer;
	/* Accelerate's data loader copies a batch to the device itself and then waits for the next
	 * batch. So all its calls belong to the loader. */
	if (inner == PART_TO_DEVICE && outer == PART_LOADER)
		return outer;
	return is_forward(inner) ? within(inner, outer) : inner;
}

/*
 * Guesses the part of a stack without Python frames by its operators. The operators of optimizers
 * are weak evidence, because gradient clipping and weight averaging use them, too.
 */
static uint8_t guess(struct frames *f, uint32_t stack)
{
	static const char *const of_optimizers[] = { "aten::_foreach_", "aten::_fused_" };
	const char *operator= frames_operator(f, stack, true);
	for (size_t i = 0; i < sizeof(of_optimizers) / sizeof(*of_optimizers); i++)
		if (!strncmp(operator, of_optimizers[i], strlen(of_optimizers[i])))
			return PART_OPTIMIZER;
	return *operator? PART_FUNCTIONAL : PART_NONE;
}

/*
 * Returns whether a frame may be a callback, such as an optimizer's closure. It may be if it is
 * user code, or a local function of a library that is not a framework, such as skorch.
 */
static bool may_be_callback(const struct frame *frame)
{
	if (frame->kind != FRAME_KIND_PYTHON)
		return false;
	return !frame->is_library ||
	       (strstr(frame->function, ".<locals>.") && !origin_is_framework(frame->file));
}

/*
 * Returns whether the frame is an optimizer's own step(), which may call a closure. PyTorch's
 * wrapper around every step() does not count, because user code that the wrapper calls is a step()
 * that the user wrote, not a closure.
 */
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
	found.is_read = stack_about_is_read(f, stack);
	bool has_python = false, has_users = false, has_left_forward = false;
	for (size_t i = 0; i < list.n; i++) {
		uint8_t part = frame_phase_part(list.at[i]);
		has_python |= list.at[i]->kind == FRAME_KIND_PYTHON;
		has_users |= may_be_callback(list.at[i]);
		found.is_worker |= part == PART_WORKER;
		if (has_left_forward)
			continue;
		/* The closure ends here: the frames further out called the optimizer. */
		has_left_forward = is_forward(found.part) && part == PART_OPTIMIZER;
		found.in_closure |= has_left_forward;
		if (part != PART_NONE && found.part == PART_NONE)
			found.via_user_code = has_users;
		if (found.part == PART_NONE && has_users && runs_closures(list.at[i], part)) {
			found.part = PART_USER;
			found.in_closure = true;
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

/* Moves `i` inwards to the next Python frame and returns this frame; NULL if there is none. Start
 * with `i` = list->n, outside the outermost frame. */
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
		p.shared = p.at;
		p.is_within_module |= frame_phase_part(p.at) == PART_MODULE;
	}
	p.inner = next_python(&a, &i);
	return p;
}

bool phase_rules_differ_by_line(const struct phase_parting *p)
{
	return p->at && p->other && !strcmp(p->at->file, p->other->file) &&
	       !strcmp(p->at->function, p->other->function) && p->at->line != p->other->line;
}

bool phase_rules_is_after(struct frames *f, uint32_t stack, uint32_t other)
{
	struct phase_parting p = phase_rules_parting(f, stack, other);
	return phase_rules_differ_by_line(&p) && p.at->line > p.other->line;
}

/* ---- Modules ---- */

/* The most Python frames, of hooks and decorators, between a module's __call__() and its
 * forward(). */
enum { BETWEEN_MOST = 8 };

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
