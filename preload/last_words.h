/*
 * Keeps the last bytes that the process writes to stderr, in the journal's header. An interpreter
 * writes there why it ends: Python's traceback names the exception and its line. Nothing else of
 * the process says so after its end.
 */
#ifndef PRELOAD_LAST_WORDS_H
#define PRELOAD_LAST_WORDS_H

/* Finds libc's write(). Called by the library's constructor, because write() may be called from a
 * signal handler later. */
void last_words_begin(void);

#endif
