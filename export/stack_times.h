/* Where the time of a step went, by stack, for formats that show stacks with weights. */
#ifndef EXPORT_STACK_TIMES_H
#define EXPORT_STACK_TIMES_H

#include "core/analysis/analyzer.h"

enum stack_time_kind {
	STACK_CPU,     /* ns between CUDA calls, from host samples */
	STACK_BLOCKED, /* ns in calls that wait, and in waits between calls */
	STACK_GPU,     /* ns of work, by the stack that launched it or captured it into a graph */
	STACK_BYTES,   /* bytes of device memory that were allocated */
	STACK_KINDS
};

enum { STACK_TIME_MORE = 2 };

struct stack_time {
	enum stack_time_kind kind;
	uint32_t stack; /* 0: unknown */
	/* frames to show within the stack, outermost first, such as the kernel; NULL after the last
	 * one */
	const char *more[STACK_TIME_MORE + 1];
	uint64_t value; /* ns or bytes */
};

/* Passes everything to `take`. Texts are valid during the call. */
void stack_times_walk(const struct analyzed_step *step,
		      void (*take)(void *context, const struct stack_time *t), void *context);

/* Returns the frames to show of a stack, innermost first: without the native frames that start the
 * Python interpreter, which samples of Python code do not have. */
struct frame_list stack_times_frames(const struct model_step *m, uint32_t stack);

#endif
