/* Returns lines of source files, to show them to the user, and finds the loop around a line of
 * Python, or the loop that begins before a line of C. Each file is read only once. */
#ifndef CORE_SOURCE_H
#define CORE_SOURCE_H

#include "core/util/strtab.h"

struct source_file {
	uint32_t path;	     /* id of the path in the `texts` that callers pass */
	char *text;	     /* NULL: the file cannot be read */
	VEC(uint32_t) lines; /* offsets of the lines in `text` */
};

/* The files read so far. All zeros is a valid start. */
struct source {
	VEC(struct source_file) files;
	size_t bytes; /* size of all files */
};

/*
 * Returns a line, counted from 1, without the whitespace around it; "" if there is no such line.
 * The result is owned by `texts`. Pass the same `texts` in all calls. A relative path `file` is
 * relative to `folder`.
 */
const char *source_line(struct source *s, struct strtab *texts, const char *folder,
			const char *file, uint32_t line);

/*
 * Returns the first line of the outermost loop (`for`, `while`) that contains `line` or begins at
 * it, in the Python function that begins at `first_line`. Detects loops by indentation. Returns 0
 * if there is no loop or the file cannot be read. `texts` and `folder` are as in source_line().
 */
uint32_t source_loop(struct source *s, struct strtab *texts, const char *folder, const char *file,
		     uint32_t first_line, uint32_t line);

/*
 * Returns the line of a `do`, `while (true)` or `for (;;)` in C or C++, of a `loop` in Rust, or of
 * a `while True` in Python, whose body begins at `line`. Such a statement may have no code, and so
 * no entry in a table of lines. Returns `line` if the statement before the line is another one.
 * `texts` and `folder` are as in source_line().
 */
uint32_t source_endless(struct source *s, struct strtab *texts, const char *folder,
			const char *file, uint32_t line);

void source_free(struct source *s);

#endif
