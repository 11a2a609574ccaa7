/*
 * Stacks made from text, in place of core/symbols/frames.c. Included by the one file that is the
 * test program. A frame is "file.py:function" (Python) or "function" (native; an operator if it
 * begins with "at::_ops::", an autograd node if it begins with "node:"), outermost first.
 */
#ifndef TEST_UNIT_MADE_STACKS_H
#define TEST_UNIT_MADE_STACKS_H

#include "core/symbols/frames.h"
#include "core/symbols/phase_rules.h"
#include "core/symbols/stack_about.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MADE_STACKS = 128, MADE_DEPTH = 12, MADE_FRAMES = 256 };

struct made_frame {
	struct frame frame; /* first: a frame's pointer is its own */
	char text[200], file[200], function[200], module[100], operator[200];
};

static struct made_frame made_frames[MADE_FRAMES];
static size_t made_n_frames;
static const struct frame *made_stacks[MADE_STACKS][MADE_DEPTH];
static size_t made_depths[MADE_STACKS];
static uint32_t made_n_stacks;
/* By line: the text of all files; NULL: no file can be read. */
static const char *const *made_source;
static uint32_t made_n_lines;
static struct frames *const made_some = (struct frames *)&made_frames;

static inline void made_forget(void)
{
	made_n_frames = made_n_stacks = 0;
}

/* "Linear.forward" is a module's; of "forward" alone the file says which. */
static inline void made_name_module(struct made_frame *f)
{
	char *end = strstr(f->function, ".forward");
	if (f->frame.kind != FRAME_KIND_PYTHON)
		return;
	size_t n = end && !end[8] ? (size_t)(end - f->function) : 0;
	memcpy(f->module, f->function, n < sizeof(f->module) ? n : 0);
}

static inline const struct frame *made_frame(const char *text)
{
	for (size_t i = 0; i < made_n_frames; i++)
		if (!strcmp(made_frames[i].text, text))
			return &made_frames[i].frame;
	assert_true(made_n_frames < MADE_FRAMES);
	struct made_frame *f = &made_frames[made_n_frames++];
	const char *py = strstr(text, ".py:");
	memset(f, 0, sizeof(*f));
	snprintf(f->text, sizeof(f->text), "%s", text);
	if (py)
		snprintf(f->file, sizeof(f->file), "%.*s", (int)(py - text) + 3, text);
	snprintf(f->function, sizeof(f->function), "%s", py ? py + 4 : text);
	char *at = strchr(f->function, '@'); /* "f@2": the same at another line */
	uint32_t line = at ? (uint32_t)strtoul(at + 1, NULL, 10) : 0;
	f->function[strcspn(f->function, "@")] = 0;
	if (!strncmp(f->function, "at::_ops::", 10))
		snprintf(f->operator, sizeof(f->operator), "aten::%s", text + 10);
	if (!strncmp(f->function, "node:", 5))
		snprintf(f->operator, sizeof(f->operator), "%s", text + 5);
	f->frame = (struct frame){ .function = f->function,
				   .line = line,
				   .file = f->file,
				   .module = "",
				   .kind = py ? FRAME_KIND_PYTHON : FRAME_KIND_NATIVE,
				   .is_library = !py || strstr(text, "/site-packages/") };
	made_name_module(f);
	return &f->frame;
}

static inline uint32_t made_stack(size_t n, const char *const *outermost_first)
{
	assert_true(made_n_stacks + 1 < MADE_STACKS && n <= MADE_DEPTH);
	made_depths[++made_n_stacks] = n;
	for (size_t i = 0; i < n; i++)
		made_stacks[made_n_stacks][n - 1 - i] = made_frame(outermost_first[i]);
	return made_n_stacks;
}

#define STACK(...)                                                                \
	made_stack(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), \
		   (const char *const[]){ __VA_ARGS__ })

struct frame_list frames_of(struct frames *f, uint32_t stack)
{
	(void)f;
	return (struct frame_list){ .at = made_stacks[stack], .n = made_depths[stack] };
}

const char *frame_operator(const struct frame *frame)
{
	return ((const struct made_frame *)frame)->operator;
}

const char *frames_operator(struct frames *f, uint32_t stack, bool outermost)
{
	struct frame_list list = frames_of(f, stack);
	for (size_t i = 0; i < list.n; i++) {
		const struct frame *frame = list.at[outermost ? list.n - 1 - i : i];
		if (*frame_operator(frame))
			return ((const struct made_frame *)frame)->operator;
	}
	return "";
}

const char *frames_source(struct frames *f, const char *file, uint32_t line)
{
	(void)f;
	(void)file;
	return line < made_n_lines && made_source[line] ? made_source[line] : "";
}

uint8_t frame_phase_part(const struct frame *frame)
{
	uint8_t part = phase_rules_match(frame);
	bool is_users = frame->kind == FRAME_KIND_PYTHON && !frame->is_library;
	return part == PART_NONE && is_users ? phase_rules_match_name(frame) : part;
}

size_t frames_operators(struct frames *f, uint32_t stack, const char **out, size_t most)
{
	*out = frames_operator(f, stack, false);
	return most && **out ? 1 : 0;
}

uint32_t frame_about(const struct frame *frame, size_t i)
{
	uint32_t about[ABOUT_DEPTHS];
	stack_about_match(frame, about);
	return about[stack_about_depth(i)];
}

/* The innermost frame of user code. */
uint32_t frames_site(struct frames *f, uint32_t stack)
{
	struct frame_list list = frames_of(f, stack);
	for (size_t i = 0; i < list.n; i++)
		if (!list.at[i]->is_library)
			return (uint32_t)((const struct made_frame *)list.at[i] - made_frames) + 1;
	return 0;
}

const char *frame_module_name(const struct frame *frame)
{
	return ((const struct made_frame *)frame)->module;
}

#endif
