/*
 * Stubs for the functions of core/symbols/frames.c that most tests with made-up stacks do not use.
 * The one file that is the test program includes this after its array `sites`, by site number, and
 * after FRAMES_HAVE_SOURCES if it defines frames_source() itself.
 */
#ifndef TEST_UNIT_FRAME_STUBS_H
#define TEST_UNIT_FRAME_STUBS_H

#include "core/symbols/frames.h"

enum { N_SITES = sizeof(sites) / sizeof(*sites) };

const struct site *frames_site_at(const struct frames *f, uint32_t site)
{
	(void)f;
	return &sites[site % N_SITES];
}

uint32_t frames_n_sites(const struct frames *f)
{
	(void)f;
	return N_SITES - 1;
}

const char *frames_operator(struct frames *f, uint32_t stack, bool outermost)
{
	(void)f;
	(void)stack;
	(void)outermost;
	return "";
}

size_t frames_operators(struct frames *f, uint32_t stack, const char **out, size_t most)
{
	(void)f;
	(void)stack;
	(void)out;
	(void)most;
	return 0;
}

const char *frame_operator(const struct frame *frame)
{
	(void)frame;
	return "";
}

#ifndef FRAMES_HAVE_SOURCES
const char *frames_source(struct frames *f, const char *file, uint32_t line)
{
	(void)f;
	(void)file;
	(void)line;
	return "";
}
#endif

#endif
