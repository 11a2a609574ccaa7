/* Finds lines of source files to show, and the loop around a line of Python. Each file is read
 * once. */
#ifndef CORE_SOURCE_H
#define CORE_SOURCE_H

#include "core/util/strtab.h"

struct source_file {
	uint32_t path;	     /* in the strtab */
	char *text;	     /* NULL: not readable */
	VEC(uint32_t) lines; /* offsets in `text` */
};

/* All zeros is empty. */
struct source {
	VEC(struct source_file) files;
	size_t bytes;
};

/* Returns a line without the whitespace around it, interned in `texts`; "": there is no such line.
 * `folder`: that a relative path is relative to. */
const char *source_line(struct source *s, struct strtab *texts, const char *folder,
			const char *file, uint32_t line);

/* Returns the line of the outermost loop (`for`, `while`) that contains or begins at `line`, within
 * the Python function that begins at `first_line`, detected by indentation. 0: there is none, or no
 * such file. */
uint32_t source_loop(struct source *s, struct strtab *texts, const char *folder, const char *file,
		     uint32_t first_line, uint32_t line);

void source_free(struct source *s);

#endif
