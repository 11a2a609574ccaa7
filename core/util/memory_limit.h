/*
 * Bounds the memory of the collector, which must not grow with the load: records that it has read
 * wait until their step is complete, and recorded steps are kept for the report. One thread.
 */
#ifndef CORE_MEMORY_LIMIT_H
#define CORE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Sets how much memory this program may take. 0: no limit, as in tools that a user starts. */
void memory_limit_set(uint64_t bytes);

/*
 * Returns whether half of the limit is used. Then no further step is kept, and no more records are
 * read before complete steps are passed on. The other half is for one step under way, symbols and
 * the report.
 */
bool memory_limit_is_near(void);

/* Returns one part of the limit in `share` parts, in bytes; UINT64_MAX without a limit. */
uint64_t memory_limit_part(unsigned share);

#endif
