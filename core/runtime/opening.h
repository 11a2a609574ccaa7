/*
 * PROF_OPENING: limits of the opening, the recording that begins with the first CUDA call
 * (preload/opening.h).
 */
#ifndef CORE_OPENING_H
#define CORE_OPENING_H

#include "core/runtime/err.h"

#include <stdint.h>

/* The limits if PROF_OPENING is not set: the default in config.def. */
#define OPENING_DEFAULT "10s,64MB"

/* A limit of 0 does not apply. If both are 0, there is no opening. */
struct opening_limits {
	uint64_t ns;	/* time in which the program launches work */
	uint64_t bytes; /* room taken in the journal */
};

/*
 * Parses "off", "10s", "64MB" or "10s,64MB", in any order. Returns 0, or -EINVAL with one line in
 * `e` (may be NULL) and `out` unchanged.
 */
int opening_parse(const char *text, struct opening_limits *out, struct err *e);

#endif
