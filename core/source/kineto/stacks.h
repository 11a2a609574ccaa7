/*
 * The stacks of a trace's calls: the operators and Python functions around them. A stack is a path
 * in a tree of frames, and its number is that of its innermost frame. So a thread's next stack is
 * found from its last one without comparing whole stacks.
 */
#ifndef CORE_KINETO_STACKS_H
#define CORE_KINETO_STACKS_H

#include "core/source/kineto/event.h"
#include "core/symbols/stack_source.h"
#include "core/util/map.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

struct stack_frame {
	uint32_t text; /* in `names` */
	uint32_t line; /* the line of the call, if it is known from elsewhere; 0: see `text` */
	/* enum event_category; EVENT_OTHER: `text` is a native function */
	uint8_t category;
};

/* The first node is the root, which stands for no stack. */
struct stack_node {
	uint32_t parent, frame;
};

struct stacks {
	const struct strtab *names;
	struct strtab texts; /* of resolved frames */
	VEC(struct stack_frame) frames;
	VEC(struct stack_node) nodes;
	struct map frame_of, child_of;
};

/* `names` must outlive it. */
void stacks_start(struct stacks *s, const struct strtab *names);
void stacks_free(struct stacks *s);

/* Returns the stack that calls the frame from the stack `parent`; 0: there is no outer stack. */
uint32_t stacks_push(struct stacks *s, uint32_t parent, const struct stack_frame *frame);
/* Returns the same stack, but with `line` as the line of its innermost frame. */
uint32_t stacks_at_line(struct stacks *s, uint32_t stack, uint32_t line);
/* Returns the stack of a text "Call stack": frames separated by ';', innermost first. */
uint32_t stacks_of_text(struct stacks *s, struct strtab *names, uint32_t text);

/* Returns whether an annotation stands for code of PyTorch, such as an optimizer's step. */
bool stacks_is_frame(const char *annotation);

/* Returns the operator's name as a live run gives it: "MmBackward0" for
 * "autograd::engine::evaluate_function: MmBackward0". */
const char *stacks_operator(const char *name);

/* Returns the source that resolves these stacks. `s` must outlive it. */
struct stack_source stacks_source(struct stacks *s);

#endif
