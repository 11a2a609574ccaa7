/*
 * Numbers for texts that occur many times in a trace. Such a number is called a word. A text has
 * the same word in the whole trace, so a format can write or encode the text once. The texts are
 * names of the run model, or made by the walk. For one thread.
 */
#ifndef EXPORT_TRACE_WORDS_H
#define EXPORT_TRACE_WORDS_H

#include "core/util/strtab.h"

struct trace_words {
	const struct strtab *names; /* names of the run model: even words */
	struct strtab own;	    /* texts made by the walk: odd words */
};

/* Returns the word of a name of the run model. */
static inline uint32_t trace_word_of_name(uint32_t name)
{
	return name * 2;
}

/* Returns the word of a text that is not a name of the run model. Copies the text. */
static inline uint32_t trace_word(struct trace_words *w, const char *text)
{
	return strtab_intern(&w->own, text) * 2 + 1;
}

static inline const char *trace_word_text(const struct trace_words *w, uint32_t word)
{
	return strtab_text(word & 1 ? &w->own : w->names, word / 2);
}

#endif
