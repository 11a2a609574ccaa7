/*
 * Finds source lines and inlined functions of one object from its debug information. Reads a
 * compilation unit when an address in it is looked up for the first time.
 */
#ifndef CORE_LINES_H
#define CORE_LINES_H

#include "core/source/journal/object.h"

struct lines;

struct line_place {
	const char *function; /* mangled; NULL: no name */
	const char *file;     /* valid until lines_free(); NULL: unknown */
	const char *folder;   /* the folder that a relative `file` refers to; NULL: unknown */
	uint32_t line;	      /* 0: unknown */
};

enum lines_state {
	LINES_READY,
	LINES_ABSENT,  /* the object has no debug information */
	LINES_TOO_BIG, /* reading the debug information would take seconds and gigabytes */
};

/*
 * Reads which units the object has. Sets `*out` only if it returns LINES_READY. `o` must outlive
 * `*out`. Free `*out` with lines_free().
 */
enum lines_state lines_open(const struct object *o, struct lines **out);
void lines_free(struct lines *l);

/*
 * Writes where the code at `address` comes from, innermost function first. The last place is in the
 * compiled function; places before it are in functions inlined there. Returns the number of places,
 * at most `most`; 0: unknown.
 */
size_t lines_find(struct lines *l, uint64_t address, struct line_place *out, size_t most);

#endif
