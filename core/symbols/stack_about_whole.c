/*
 * Determines why a call was made from its whole stack: from the frames (stack_about.c), the
 * operators and the phase.
 */
#include "core/symbols/phase_rules.h"
#include "core/symbols/stack_about.h"

static uint16_t about_phase(struct frames *f, uint32_t stack)
{
	struct phase_stack phase = phase_rules_stack(f, stack);
	if (!phase.is_certain)
		return 0;
	switch (phase_of_part(phase.part)) {
	case PHASE_OPTIMIZER:
		return phase.via_user_code ? 0 : ABOUT_OPTIMIZER | ABOUT_PASS;
	case PHASE_FORWARD:
	case PHASE_BACKWARD:
		return ABOUT_PASS;
	default:
		return 0;
	}
}

uint16_t stack_about(struct frames *f, uint32_t stack)
{
	uint16_t about = 0;
	if (!stack)
		return 0;
	struct frame_list list = frames_of(f, stack);
	for (size_t i = 0; i < list.n; i++)
		about |= frame_about(list.at[i], i);
	about |= stack_about_is_read(f, stack) ? ABOUT_READ : 0;
	return about | about_phase(f, stack);
}
