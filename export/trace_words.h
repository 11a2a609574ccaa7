/*
 * Texts that occur many times in a trace, each identified by a small number, a word, that stays the
 * same over the trace. A format writes or encodes each of them once. Words are either the run
 * model's names or texts that the walk made. One thread.
 */
#ifndef EXPORT_TRACE_WORDS_H
#define EXPORT_TRACE_WORDS_H

#include "core/util/strtab.h"

struct trace_words {
	const struct strtab *names; /* the run model's: even words */
	struct strtab own;	    /* odd words */
};

/* Returns the word of an id in the run model's names. */
static inline uint32_t trace_word_of_name(uint32_t name)
{
	return name * 2;
}

/* Returns the word of a text that is not among the run model's names. It is copied. */
static inline uint32_t trace_word(struct trace_words *w, const char *text)
{
	return strtab_intern(&w->own, text) * 2 + 1;
}

static inline const char *trace_word_text(const struct trace_words *w, uint32_t word)
{
	return strtab_text(word & 1 ? &w->own : w->names, word / 2);
}

#endif
