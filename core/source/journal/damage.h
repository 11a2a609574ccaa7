/* Describes how a journal's file is damaged or cut short. */
#ifndef CORE_DAMAGE_H
#define CORE_DAMAGE_H

#include "core/source/journal/dict.h"
#include "core/source/journal/reader.h"

/*
 * Writes one line about the damage, without the journal's name; "" if the file is intact. Call
 * after the journal was read to its end. Records that a dying process never wrote are not damage.
 * Returns `to`.
 */
char *damage_say(char *to, size_t bytes, const struct reader *r, const struct dict *d);
enum { DAMAGE_BYTES = 300 };

#endif
