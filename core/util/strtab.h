/*
 * A table that stores each different text once, and identifies it by a small number, its id. Only
 * for the offline half, not for the preloaded library. No locks: one thread may use a table at a
 * time.
 */
#ifndef CORE_STRTAB_H
#define CORE_STRTAB_H

#include "core/util/vec.h"

#include <stdint.h>

/* All zeros is an empty table. Id 0 is always "". */
struct strtab {
	VEC(char *) texts;
	uint32_t *slots; /* hash table of ids: id + 1; 0: unused */
	size_t room;	 /* number of slots, a power of 2 */
};

/* Returns the id of the text. Adds a copy of the text if it is new. */
uint32_t strtab_intern(struct strtab *t, const char *text);

/* Returns the text with this id; "" if the id is unknown. The table owns the text. */
const char *strtab_text(const struct strtab *t, uint32_t id);

void strtab_free(struct strtab *t);

#endif
