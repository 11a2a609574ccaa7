/*
 * The functions of core/symbols/frames.c that most made-up stacks need nothing of. Included by the one
 * file that is the test program, after it defined the array `sites`, by site number, and
 * FRAMES_HAVE_SOURCES if it has a frames_source() of its own.
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
