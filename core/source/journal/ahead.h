/*
 * Room made ahead of a library that writes: disk space behind the next chunks and zeroed pages in memory, so that the
 * application's threads find both instead of waiting for them. Only a help: nothing depends on it, failures are not said
 * (the library meets them itself). Runs in the collector, with a live reader.
 */
#ifndef CORE_AHEAD_H
#define CORE_AHEAD_H

#include "core/source/journal/reader.h"

struct ahead {
	uint32_t spaced, touched; /* chunks below these were seen to */
};

/* After each pass. Costs nothing while the library stays in its chunks. */
void ahead_prepare(struct ahead *a, const struct reader *r);

#endif
