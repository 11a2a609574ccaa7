/* What core/frames.c knows of single frames, for tests that make frames up: by the rules alone. */
#ifndef TEST_UNIT_FRAME_FACTS_H
#define TEST_UNIT_FRAME_FACTS_H

#include "core/phase_rules.h"

uint8_t frame_phase_part(const struct frame *frame)
{
	return phase_rules_match(frame);
}

const char *frame_module_name(const struct frame *frame)
{
	(void)frame;
	return "";
}

#endif
