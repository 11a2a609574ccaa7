/* Lines of source files, for showing, and the loops that a line of Python stands in. Each file is read once. */
#ifndef CORE_SOURCE_H
#define CORE_SOURCE_H

#include "core/util/strtab.h"

struct source_file {
	uint32_t path;	     /* in the strtab */
	char *text;	     /* NULL: could not be read */
	VEC(uint32_t) lines; /* where they begin */
};

/* All zero is an empty one. */
struct source {
	VEC(struct source_file) files;
	size_t bytes;
};

/* Without the blanks around it; "" where there is no such line. Interned in `texts`. `folder`: of relative paths. */
const char *source_line(struct source *s, struct strtab *texts, const char *folder,
			const char *file, uint32_t line);

/* The line of the outermost loop (`for`, `while`) around a line of the Python function that begins at `first_line`, or which that line begins; 0:
 * there is none, or no such file. Told by how far lines are indented. */
uint32_t source_loop(struct source *s, struct strtab *texts, const char *folder, const char *file,
		     uint32_t first_line, uint32_t line);

void source_free(struct source *s);

#endif
