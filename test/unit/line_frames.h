/*
 * Stacks of one Python frame each, in place of core/symbols/frames.c. The frame's line and its site
 * have the stack's number. A test may set callers[]. Included by the one file that is the test
 * program.
 */
#ifndef TEST_UNIT_LINE_FRAMES_H
#define TEST_UNIT_LINE_FRAMES_H

#define FRAMES_HAVE_SITE_OF

#include "core/symbols/frames.h"
#include "test/unit/frame_facts.h"

enum {
	STACKS = 64,
	LOADERS = 60,	      /* made by a loader's code */
	LOADERS_THREADS = 61, /* no line of the user's below it */
	BATCHES = 62	      /* copies a batch within a dataset's code */
};

static struct frame frames[STACKS];
static const struct frame *frame_lists[STACKS][2];
static uint32_t callers[STACKS]; /* by stack: the stack whose frame is around its own; 0: none */
static struct site sites[STACKS];

#include "test/unit/frame_stubs.h"

static void make_frames(void)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		frames[i] = (struct frame){ .function = "step",
					    .file = "/home/me/train.py",
					    .module = "",
					    .line = i,
					    .kind = FRAME_KIND_PYTHON };
		sites[i] = (struct site){ "/home/me/train.py", "step", i, true, 0 };
		frame_lists[i][0] = &frames[i];
	}
	frames[LOADERS].function = frames[LOADERS_THREADS].function = "DataLoaderShard.__iter__";
	frames[BATCHES].function = "Images.__getitem__";
	sites[LOADERS_THREADS].is_user = false;
}

struct frame_list frames_of(struct frames *f, uint32_t stack)
{
	(void)f;
	frame_lists[stack % STACKS][1] = &frames[callers[stack % STACKS]];
	return (struct frame_list){ .at = frame_lists[stack % STACKS],
				    .n = !stack			   ? 0
					 : callers[stack % STACKS] ? 2
								   : 1 };
}

uint32_t frames_site(struct frames *f, uint32_t stack)
{
	(void)f;
	return stack;
}

uint32_t frames_site_of(struct frames *f, const struct frame *frame)
{
	(void)f;
	return (uint32_t)(frame - frames);
}

void frames_free(struct frames *f)
{
	(void)f;
}

struct frames *frames_new(struct stack_source source, const struct tables *tables)
{
	(void)tables;
	if (source.free)
		source.free(source.context);
	return NULL;
}

#endif
