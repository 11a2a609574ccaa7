/*
 * Determines why a call was made from its whole stack: from the frames (stack_about.c), the
 * operators and the phase.
 */
#include "core/symbols/idle_loop.h"
#include "core/symbols/origin.h"
#include "core/symbols/phase_rules.h"
#include "core/symbols/stack_about.h"

#include <string.h>

/* Returns whether the innermost Python code is a framework's. */
static bool is_in_framework(const struct frame_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i]->kind == FRAME_KIND_PYTHON)
			return origin_is_framework(list->at[i]->file);
	return false;
}

static uint32_t about_phase(struct frames *f, uint32_t stack)
{
	struct phase_stack phase = phase_rules_stack(f, stack);
	struct frame_list list = frames_of(f, stack);
	if (!phase.is_certain)
		return 0;
	if (phase.part == PART_MOVE)
		return ABOUT_PASS;
	uint32_t launching = is_in_framework(&list) ? ABOUT_LAUNCHING : 0;
	switch (phase_of_part(phase.part)) {
	case PHASE_OPTIMIZER:
		return phase.via_user_code ? 0 : ABOUT_OPTIMIZER | ABOUT_PASS | launching;
	case PHASE_FORWARD:
	case PHASE_BACKWARD:
		return ABOUT_PASS | launching;
	default:
		return 0;
	}
}

/*
 * Returns whether autograd's anomaly detection made the call. The engine then looks for NaN in each
 * result of a node, after the node has run. Otherwise the engine itself, outside its nodes, only
 * adds up gradients. A gradient's hook in Python is not the engine.
 */
static bool is_of_anomaly(const struct frame_list *list)
{
	static const char *const checks[] = { "aten::isnan", "aten::ne", "aten::_is_any_true",
					      "aten::any", "aten::item" };
	static const char engine[] = "torch::autograd::Engine::evaluate_function",
			  node[] = "torch::autograd::Node::operator()";
	const char *operator= "";
	for (size_t i = 0; i < list->n; i++) {
		const struct frame *frame = list->at[i];
		if (frame->kind == FRAME_KIND_PYTHON || strstr(frame->function, node))
			return false;
		if (*frame_operator(frame))
			operator= frame_operator(frame);
		if (strncmp(frame->function, engine, sizeof(engine) - 1) != 0)
			continue;
		for (size_t k = 0; k < sizeof(checks) / sizeof(*checks); k++)
			if (!strcmp(operator, checks[k]))
				return true;
		return false;
	}
	return false;
}

/* Returns whether the user's frame, which has called something, fetches the next item of a loop:
 * its line is the head of a loop, or calls next(). */
static bool fetches(struct frames *f, const struct frame *frame)
{
	if (frame->kind != FRAME_KIND_PYTHON || frame->is_library || !frame->line)
		return false;
	const char *text = frames_source(f, frame->file, frame->line);
	return !strncmp(text, "for ", 4) || !strncmp(text, "async for ", 10) ||
	       strstr(text, "next(");
}

uint32_t stack_about(struct frames *f, uint32_t stack)
{
	uint32_t about = 0;
	if (!stack)
		return 0;
	struct frame_list list = frames_of(f, stack);
	for (size_t i = 0; i < list.n; i++)
		about |= frame_about(list.at[i], i);
	about |= stack_about_is_read(f, stack) ? ABOUT_READ : 0;
	about |= is_of_anomaly(&list) ? ABOUT_ANOMALY : 0;
	about |= idle_loop_is_on(&list) ? ABOUT_IDLE_LOOP : 0;
	for (size_t i = 1; i < list.n && !(about & ABOUT_FETCH); i++)
		about |= fetches(f, list.at[i]) ? ABOUT_FETCH : 0;
	return about | about_phase(f, stack);
}
