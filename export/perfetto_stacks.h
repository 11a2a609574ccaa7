/* The stacks of a trace's calls, each looked up and put into words once per file, and written once per sequence. */
#ifndef EXPORT_PERFETTO_STACKS_H
#define EXPORT_PERFETTO_STACKS_H

#include "core/frames.h"
#include "core/map.h"
#include "export/perfetto_writer.h"

/* Words are 0 where there is nothing to say. */
struct perfetto_stack {
	uint32_t line;	   /* "train.py:42": the user's, as far as there is one */
	uint32_t function; /* that the line stands in */
	uint32_t operator; /* innermost */
	uint32_t text;	   /* all of it, a frame a line */
	uint32_t number;   /* of the callstack in every sequence */
	uint32_t first, n; /* in `frame_numbers`, outermost first */
	uint32_t sequence; /* that has it last */
};

/* A frame, or a folded run of them. */
struct perfetto_known_frame {
	struct perfetto_frame frame;
	uint32_t text; /* word: its line in a stack's text */
	uint32_t sequence;
};

struct perfetto_stacks {
	struct frames *frames; /* NULL: stacks are not looked up */
	struct map index_of;   /* DICT_STACK -> index in `at` */
	VEC(struct perfetto_stack) at;
	struct map number_of; /* frame or run -> its number, from 1 */
	VEC(struct perfetto_known_frame) known;
	VEC(uint32_t) frame_numbers;
};

/* NULL where nothing is known of the stack. Good until the next call. */
const struct perfetto_stack *perfetto_stack(struct perfetto_stacks *s, struct perfetto_writer *w,
					    uint32_t stack);

/* Makes sure that the sequence knows the callstack; its number there. Between events. */
uint32_t perfetto_stack_define(struct perfetto_stacks *s, struct perfetto_writer *w,
			       const struct perfetto_stack *stack);

void perfetto_stacks_free(struct perfetto_stacks *s);

#endif
