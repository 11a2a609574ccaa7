/*
 * Prepares the journal ahead of the library that writes it: disk space for the next chunks and
 * zeroed pages in memory, so that the application's threads do not wait for them. Nothing depends
 * on it, and failures are ignored because the library meets them itself. Runs in the collector,
 * with a live reader.
 */
#ifndef CORE_AHEAD_H
#define CORE_AHEAD_H

#include "core/source/journal/reader.h"

struct ahead {
	uint32_t spaced, touched; /* chunks below these have disk space, or pages */
};

/* To be called after each pass. Costs nothing while the library takes no new chunk. */
void ahead_prepare(struct ahead *a, const struct reader *r);

#endif
