/*
 * What core/symbols/frames.c reports of single frames, for tests that make frames up: by the rules
 * alone.
 */
#ifndef TEST_UNIT_FRAME_FACTS_H
#define TEST_UNIT_FRAME_FACTS_H

#include "core/symbols/phase_rules.h"
#include "core/symbols/stack_about.h"

#include <string.h>

/* What an object's names lack, if a test says so. */
static const char *made_diagnostic;

uint8_t frame_phase_part(const struct frame *frame)
{
	return phase_rules_match(frame);
}

uint32_t frame_about(const struct frame *frame, size_t i)
{
	uint32_t about[ABOUT_DEPTHS];
	stack_about_match(frame, about);
	return about[stack_about_depth(i)];
}

bool frame_is_package_code(const struct frame *frame)
{
	return frame->line && strstr(frame->file, "-packages/") &&
	       !strstr(frame->file, "-packages/torch/");
}

bool frames_are_of_one_function(const struct frame *a, const struct frame *b)
{
	return !strcmp(a->file, b->file) && !strcmp(a->function, b->function);
}

/* There are no source files, so no loops. */
bool frames_is_in_loop(struct frames *f, const struct frame *frame)
{
	(void)f;
	(void)frame;
	return false;
}

#ifndef FRAMES_HAVE_SITE_OF
uint32_t frames_site_of(struct frames *f, const struct frame *frame)
{
	(void)f;
	(void)frame;
	return 0;
}
#endif

/* The site has the line's number. */
uint32_t frames_site_in(struct frames *f, const struct frame *frame, uint32_t line)
{
	(void)f;
	(void)frame;
	return line;
}

bool frames_add_loop(struct frames *f, const struct frame *frame)
{
	(void)f;
	(void)frame;
	return false;
}

const char *frame_module_name(const struct frame *frame)
{
	(void)frame;
	return "";
}

const char *frames_diagnostic(const struct frames *f, size_t i)
{
	(void)f;
	return i ? NULL : made_diagnostic;
}

#endif
