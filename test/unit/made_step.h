/* A step of one thread that makes calls, for what is found around them; with made_stacks.h. */
#ifndef TEST_UNIT_MADE_STEP_H
#define TEST_UNIT_MADE_STEP_H

#include "core/model/model.h"
#include "test/unit/made_stacks.h"

static struct model_step made_step;

static inline int made_step_begin(void **state)
{
	(void)state;
	made_forget();
	vec_push(&made_step.threads, (struct model_thread){ .tid = 1 });
	return 0;
}

static inline void made_step_end(void)
{
	model_free(&made_step);
	memset(&made_step, 0, sizeof(made_step));
}

/* In order of their begin. */
static inline void made_call(uint64_t begin_ns, uint64_t end_ns, uint32_t stack)
{
	vec_push(&made_step.calls,
		 (struct model_call){ .begin_ns = begin_ns, .end_ns = end_ns, .stack = stack });
	made_step.threads.at[0].n = made_step.calls.n;
}

#endif
