/* Each different text once, known by a small number. Offline half only; one owner, no locks. */
#ifndef CORE_STRTAB_H
#define CORE_STRTAB_H

#include "core/util/vec.h"

#include <stdint.h>

/* All zero is an empty table. Id 0 is always "". */
struct strtab {
	VEC(char *) texts;
	uint32_t *slots; /* id + 1 */
	size_t room;
};

uint32_t strtab_intern(struct strtab *t, const char *text);

/* "" for an id that the table never gave. */
const char *strtab_text(const struct strtab *t, uint32_t id);

void strtab_free(struct strtab *t);

#endif
