/* What is wrong with a journal as a file, in words. */
#ifndef CORE_DAMAGE_H
#define CORE_DAMAGE_H

#include "core/source/journal/dict.h"
#include "core/source/journal/reader.h"

/*
 * One line without the journal's name, "" where nothing is wrong; of a journal that was read to its end. What was never written,
 * since its process died, is no damage. Returns `to`.
 */
char *damage_say(char *to, size_t bytes, const struct reader *r, const struct dict *d);
enum { DAMAGE_BYTES = 300 };

#endif
