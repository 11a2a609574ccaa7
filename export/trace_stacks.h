/*
 * Texts for the stacks of a trace's calls. Each stack is looked up and put into words once per
 * file. (Perfetto can also store callstacks of events, but its versions before 53 report these as
 * an error in the trace.)
 */
#ifndef EXPORT_TRACE_STACKS_H
#define EXPORT_TRACE_STACKS_H

#include "core/model/model.h"
#include "core/symbols/frames.h"
#include "core/util/map.h"
#include "export/trace_words.h"

enum trace_stack_word {
	STACK_WORD_LINE,     /* "train.py:42": the user's line, if there is one */
	STACK_WORD_FUNCTION, /* function that contains the line */
	STACK_WORD_OPERATOR, /* innermost operator */
	STACK_WORD_STACK,    /* the whole stack, one line per frame */
	STACK_WORDS
};

/* The words of one stack. 0: not known. */
struct trace_stack {
	uint32_t word[STACK_WORDS];
};

struct trace_stacks {
	struct frames *frames; /* NULL: stacks are not looked up */
	struct trace_words *words;
	struct map index_of; /* stack's id -> index in `at` */
	VEC(struct trace_stack) at;
	struct map place_of; /* site's number -> word */
	struct map code_of;  /* site's number -> word with its function */
	struct map line_of;  /* frame or folded frames -> word: their line in a stack's text */
};

/* Returns the words of a stack, all 0 if nothing is known about it. Valid until the next call. */
const struct trace_stack *trace_stack(struct trace_stacks *s, uint32_t stack);

/* Returns the word for the line of a call, or 0 if it is not known. The line is that of the call's
 * stack. For a call of the backward pass without a line, it is that of the forward pass. */
uint32_t trace_line_of_call(struct trace_stacks *s, const struct model_call *c,
			    uint32_t forward_site);

/* Returns the word for a site's "train.py:42", or 0 if it is not known. */
uint32_t trace_line_of_site(struct trace_stacks *s, uint32_t number);

/* Returns the word for a site's "train.py:42 main", or 0 if it is not known. */
uint32_t trace_code_of_site(struct trace_stacks *s, uint32_t number);

void trace_stacks_free(struct trace_stacks *s);

#endif
