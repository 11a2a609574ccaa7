/*
 * Stacks that a test makes up, in place of core/symbols/frames.c. Included by the one file that is
 * the test program, whose definitions then override the archive's.
 */
#ifndef TEST_UNIT_FAKE_FRAMES_H
#define TEST_UNIT_FAKE_FRAMES_H

#include "core/symbols/frames.h"
#include "test/unit/frame_facts.h"

#include <string.h>

enum { FAKE_STACKS = 32 };

/* One frame, one operator; stacks with the same line of a file are one site. */
struct fake_stack {
	const char *file, *function, *module, *operator;
	uint32_t line;
	uint32_t site;
};

static struct fake_stack fake_stacks[FAKE_STACKS]; /* by stack id */
static struct site fake_sites[FAKE_STACKS];	   /* site 1 is [0] */
static uint32_t fake_n_sites;
static enum frame_kind fake_kind = FRAME_KIND_NATIVE; /* of frames in .py files */

static inline void fake_forget(void)
{
	memset(fake_stacks, 0, sizeof(fake_stacks));
	fake_n_sites = 0;
}

static inline void fake_add(uint32_t stack, const char *file, uint32_t line, const char *function,
			    const char *module, const char *operator)
{
	uint32_t site = 1;
	while (site <= fake_n_sites &&
	       (fake_sites[site - 1].line != line || strcmp(fake_sites[site - 1].file, file) != 0))
		site++;
	fake_stacks[stack] = (struct fake_stack){ file, function, module, operator, line, site };
	if (site <= fake_n_sites)
		return;
	fake_sites[fake_n_sites++] =
		(struct site){ .file = file, .function = function, .line = line, .is_user = true };
}

struct frames *frames_new(struct stack_source source, const struct tables *tables)
{
	(void)tables;
	if (source.free)
		source.free(source.context);
	return NULL;
}

void frames_free(struct frames *f)
{
	(void)f;
}

static struct frame fake_frames[FAKE_STACKS]; /* a stack's one frame */

struct frame_list frames_of(struct frames *f, uint32_t stack)
{
	static const struct frame *list[FAKE_STACKS];
	const struct fake_stack *s = &fake_stacks[stack % FAKE_STACKS];
	struct frame *frame = &fake_frames[stack % FAKE_STACKS];
	(void)f;
	if (!s->site)
		return (struct frame_list){ 0 };
	*frame = (struct frame){ .function = s->function,
				 .file = s->file,
				 .module = s->module,
				 .line = s->line,
				 .kind = strstr(s->file, ".py") ? (uint8_t)fake_kind
								: FRAME_KIND_NATIVE };
	if (strstr(s->file, "-packages/")) /* the rules of other frames hold for either kind */
		frame->kind = FRAME_KIND_PYTHON;
	list[stack % FAKE_STACKS] = frame;
	return (struct frame_list){ .at = &list[stack % FAKE_STACKS], .n = 1 };
}

const char *frame_operator(const struct frame *frame)
{
	const char *operator= fake_stacks[frame - fake_frames].operator;
	return operator? operator: "";
}

uint32_t frames_site(struct frames *f, uint32_t stack)
{
	(void)f;
	return fake_stacks[stack % FAKE_STACKS].site;
}

const struct site *frames_site_at(const struct frames *f, uint32_t site)
{
	static const struct site nowhere = { .file = "", .function = "" };
	(void)f;
	return site && site <= fake_n_sites ? &fake_sites[site - 1] : &nowhere;
}

uint32_t frames_n_sites(const struct frames *f)
{
	(void)f;
	return fake_n_sites;
}

const char *frames_source(struct frames *f, const char *file, uint32_t line)
{
	(void)f;
	(void)file;
	(void)line;
	return "";
}

const char *frames_operator(struct frames *f, uint32_t stack, bool outermost)
{
	const char *operator= fake_stacks[stack % FAKE_STACKS].operator;
	(void)f;
	(void)outermost;
	return operator? operator: "";
}

size_t frames_operators(struct frames *f, uint32_t stack, const char **out, size_t most)
{
	const char *operator= frames_operator(f, stack, false);
	if (!*operator|| !most)
		return 0;
	out[0] = operator;
	return 1;
}

#endif
