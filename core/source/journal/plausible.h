/*
 * Checks whether a run can have written a record, by the record's times: a journal may have been
 * damaged in a copy, and one flipped bit in a time makes a step of years. The reader skips records
 * that lie outside the run, end before they begin or last longer than the run. Ingest skips
 * allocations of impossible size.
 */
#ifndef CORE_PLAUSIBLE_H
#define CORE_PLAUSIBLE_H

#include "core/runtime/record.h"

#include <stdbool.h>

/* Ticks that a record may contain. Those of the CPU go further: calls are still made and recorded
 * after the orderly end was noted. */
struct plausible {
	uint64_t gpu_first, gpu_last;
	uint64_t host_first, host_last;
	uint64_t steps_most; /* highest possible step number */
};

/* The journal must not have a writer any more. */
void plausible_set(struct plausible *p, const struct journal_header *h);

/* The size of an allocation that succeeded. */
static inline bool plausible_bytes(uint64_t bytes)
{
	return bytes < 1ull << 48; /* 256 TiB: a host's whole address space */
}

/* `head` is a whole record, as the reader returns it. */
bool plausible_record(const struct plausible *p, const struct rec_head *head);

#endif
