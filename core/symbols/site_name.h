/* The short name of a site, for texts: "train.py:31". */
#ifndef CORE_SITE_NAME_H
#define CORE_SITE_NAME_H

#include "core/symbols/frames.h"

enum { SITE_NAME_BYTES = 120 };

/* Writes the file's name and the line; the function if the line is not known. Returns `to`. */
char *site_name(const struct site *s, char to[static SITE_NAME_BYTES]);

#endif
