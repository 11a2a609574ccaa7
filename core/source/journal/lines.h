/*
 * Source lines and inlined functions of one object, from its debug information. Only the compilation units that addresses lie in are
 * read, each when its first address comes.
 */
#ifndef CORE_LINES_H
#define CORE_LINES_H

#include "core/source/journal/object.h"

struct lines;

struct line_place {
	const char *function; /* mangled; NULL where it has no name */
	const char *file;     /* as long as `struct lines` lives; NULL where it is not known */
	const char *folder;   /* that a relative file is relative to; NULL */
	uint32_t line;	      /* 0: not known */
};

enum lines_state {
	LINES_READY,
	LINES_ABSENT,  /* compiled without */
	LINES_TOO_BIG, /* reading it would take seconds and gigabytes */
};

/* `*out` is set for LINES_READY alone. `o` must outlive it. */
enum lines_state lines_open(const struct object *o, struct lines **out);
void lines_free(struct lines *l);

/* Where an address is, innermost first: functions inlined one into the other, last the function that was compiled. How many, at
 * most `most`; 0 where nothing is known. */
size_t lines_find(struct lines *l, uint64_t address, struct line_place *out, size_t most);

#endif
