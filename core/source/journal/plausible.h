/*
 * Checks whether a run can have written a record, by the record's times and numbers. A journal may
 * have been damaged by copying, and a single flipped bit in a time would make a step of years. The
 * reader skips records that lie outside the run, end before they begin, or last longer than the
 * run. Ingest skips allocations of impossible size.
 */
#ifndef CORE_PLAUSIBLE_H
#define CORE_PLAUSIBLE_H

#include "core/runtime/record.h"

#include <stdbool.h>

/*
 * The limits of what records may contain, in ticks. Limits of the CPU's records are wider than
 * those of GPU records: calls are still made and recorded after the orderly exit was noted.
 */
struct plausible {
	uint64_t gpu_first, gpu_last;
	uint64_t host_first, host_last;
	uint64_t steps_most; /* highest possible step number */
};

/* Sets the limits from a journal's header. No process may write the journal any more. */
void plausible_set(struct plausible *p, const struct journal_header *h);

/* Returns whether an allocation of this size can have succeeded. */
static inline bool plausible_bytes(uint64_t bytes)
{
	return bytes < 1ull << 48; /* 256 TiB: the whole address space of a process */
}

/*
 * Returns whether a run can have written the record. `head`: a complete record, as the reader
 * returns it.
 */
bool plausible_record(const struct plausible *p, const struct rec_head *head);

#endif
