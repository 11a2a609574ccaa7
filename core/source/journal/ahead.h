/*
 * Prepares disk space and zeroed pages for the chunks that the library will write next, so that the
 * application's threads do not wait for them. Failures are ignored: nothing depends on this,
 * because the library prepares whatever is still missing. Runs in the collector, on a live reader.
 */
#ifndef CORE_AHEAD_H
#define CORE_AHEAD_H

#include "core/source/journal/reader.h"

struct ahead {
	/* chunks below `spaced` have disk space; pages of chunks below `touched` exist */
	uint32_t spaced, touched;
};

/*
 * Prepares the next chunks. Call after each pass. Does almost nothing until the library takes a new
 * chunk.
 */
void ahead_prepare(struct ahead *a, const struct reader *r);

#endif
