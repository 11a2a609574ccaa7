/*
 * Stores each different text once and identifies it by a small number. Offline half only; one
 * owner, no locks.
 */
#ifndef CORE_STRTAB_H
#define CORE_STRTAB_H

#include "core/util/vec.h"

#include <stdint.h>

/* All zeros is an empty table. Id 0 is always "". */
struct strtab {
	VEC(char *) texts;
	uint32_t *slots; /* id + 1 */
	size_t room;
};

uint32_t strtab_intern(struct strtab *t, const char *text);

/* Returns "" for an unknown id. */
const char *strtab_text(const struct strtab *t, uint32_t id);

void strtab_free(struct strtab *t);

#endif
