/*
 * Finds source lines and inlined functions of one object from its debug information. A compilation
 * unit is read when the first address in it is looked up.
 */
#ifndef CORE_LINES_H
#define CORE_LINES_H

#include "core/source/journal/object.h"

struct lines;

struct line_place {
	const char *function; /* mangled; NULL: no name */
	const char *file;     /* valid as long as the struct lines; NULL: unknown */
	const char *folder;   /* of a relative file; NULL: unknown */
	uint32_t line;	      /* 0: unknown */
};

enum lines_state {
	LINES_READY,
	LINES_ABSENT,  /* no debug information */
	LINES_TOO_BIG, /* reading it would take seconds and gigabytes */
};

/* Sets `*out` only if the result is LINES_READY. `o` must outlive it. */
enum lines_state lines_open(const struct object *o, struct lines **out);
void lines_free(struct lines *l);

/* Writes the place of an address, innermost first: inlined functions, then the compiled function
 * that contains them. Returns how many, at most `most`; 0: unknown. */
size_t lines_find(struct lines *l, uint64_t address, struct line_place *out, size_t most);

#endif
