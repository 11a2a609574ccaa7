/*
 * The stacks of a trace's calls, each looked up and put into words once per file. (Perfetto has callstacks of its own for events, but
 * its versions before 53 take them for an error in the trace.)
 */
#ifndef EXPORT_PERFETTO_STACKS_H
#define EXPORT_PERFETTO_STACKS_H

#include "core/model/model.h"
#include "core/symbols/frames.h"
#include "core/util/map.h"
#include "export/perfetto_writer.h"

enum perfetto_stack_word {
	STACK_WORD_LINE,     /* "train.py:42": the user's, as far as there is one */
	STACK_WORD_FUNCTION, /* that the line stands in */
	STACK_WORD_OPERATOR, /* innermost */
	STACK_WORD_STACK,    /* all of it, a frame a line */
	STACK_WORDS
};

/* Words are 0 where there is nothing to say. */
struct perfetto_stack {
	uint32_t word[STACK_WORDS];
	uint32_t sequence; /* that knows all of them: the last one to be told */
};

struct perfetto_stacks {
	struct frames *frames; /* NULL: stacks are not looked up */
	struct map index_of;   /* DICT_STACK -> index in `at` */
	VEC(struct perfetto_stack) at;
	struct map place_of; /* site -> word */
	struct map line_of;  /* frame or folded run -> word: its line in a stack's text */
};

/* All zero for a stack of which nothing is known. Good until the next call. */
struct perfetto_stack *perfetto_stack(struct perfetto_stacks *s, struct perfetto_writer *w,
				      uint32_t stack);

/* The word for the call's line: its stack's, or of a backward pass that has none the line that made it necessary. 0: none. */
uint32_t perfetto_line_of_call(struct perfetto_stacks *s, struct perfetto_writer *w,
			       const struct model_call *c, uint32_t forward_site);

/* "train.py:42" of a site. 0: none. */
uint32_t perfetto_line_of_site(struct perfetto_stacks *s, struct perfetto_writer *w,
			       uint32_t number);

/* Makes sure that the sequence knows the words. Between events. */
void perfetto_stack_define(struct perfetto_writer *w, struct perfetto_stack *stack);

/* The event's arguments. */
void perfetto_stack_write(struct pb *b, const struct perfetto_stack *stack);

void perfetto_stacks_free(struct perfetto_stacks *s);

#endif
