/*
 * Keeps the last bytes that the process writes to stderr, in the journal's header. An interpreter
 * writes there why it ends: Python's traceback names the exception and its line. Nothing else of
 * the process says so after its end.
 */
#ifndef PRELOAD_LAST_WORDS_H
#define PRELOAD_LAST_WORDS_H

#include <sys/types.h>

/* Finds libc's write(). Called by the library's constructor, because write() may be called from a
 * signal handler later. */
void last_words_begin(void);

/*
 * Keeps the words of the process `pid` only. A child that was made without fork handlers (_Fork,
 * clone) has the address of its parent's journal, but not its memory. 0: keeps none.
 */
void last_words_keep(pid_t pid);

#endif
