/*
 * The stacks of a trace's calls, each looked up and put into words once per file. (Perfetto has
 * callstacks of its own for events, but its versions before 53 take them for an error in the
 * trace.)
 */
#ifndef EXPORT_TRACE_STACKS_H
#define EXPORT_TRACE_STACKS_H

#include "core/model/model.h"
#include "core/symbols/frames.h"
#include "core/util/map.h"
#include "export/trace_words.h"

enum trace_stack_word {
	STACK_WORD_LINE,     /* "train.py:42": the user's own line, if there is one */
	STACK_WORD_FUNCTION, /* that contains the line */
	STACK_WORD_OPERATOR, /* innermost */
	STACK_WORD_STACK,    /* the whole stack, one line per frame */
	STACK_WORDS
};

/* A word is 0 where nothing is known. */
struct trace_stack {
	uint32_t word[STACK_WORDS];
};

struct trace_stacks {
	struct frames *frames; /* NULL: stacks are not looked up */
	struct trace_words *words;
	struct map index_of; /* DICT_STACK -> index in `at` */
	VEC(struct trace_stack) at;
	struct map place_of; /* site -> word */
	struct map line_of;  /* frame or folded run -> word: its line in a stack's text */
};

/* Returns all zeros for a stack of which nothing is known. Valid until the next call. */
const struct trace_stack *trace_stack(struct trace_stacks *s, uint32_t stack);

/* Returns the word for the call's line: that of its stack or, for a call of the backward pass that
 * has none, of the forward line that it belongs to. 0: not known. */
uint32_t trace_line_of_call(struct trace_stacks *s, const struct model_call *c,
			    uint32_t forward_site);

/* Returns the word for a site's "train.py:42". 0: not known. */
uint32_t trace_line_of_site(struct trace_stacks *s, uint32_t number);

void trace_stacks_free(struct trace_stacks *s);

#endif
