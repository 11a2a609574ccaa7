/*
 * Which records a run can have written, by their times: a journal may have been damaged on its way, and one flipped bit in a time
 * makes a step of years. What lies outside the run, ends before it begins or lasts longer than the run is left out by the reader, and an
 * allocation of more than there can be by who follows the journal.
 */
#ifndef CORE_PLAUSIBLE_H
#define CORE_PLAUSIBLE_H

#include "core/runtime/record.h"

#include <stdbool.h>

/* Ticks that may stand in a record. The host's go further: calls are made, and recorded, after the orderly end was noted. */
struct plausible {
	uint64_t gpu_first, gpu_last;
	uint64_t host_first, host_last;
	uint64_t steps_most; /* no step that was told has a higher number */
};

/* Of a journal that nobody writes any more. */
void plausible_set(struct plausible *p, const struct journal_header *h);

/* Of an allocation that succeeded. */
static inline bool plausible_bytes(uint64_t bytes)
{
	return bytes < 1ull << 48; /* 256 TiB: a host's whole address space */
}

/* `head` is whole, as the reader gives it. */
bool plausible_record(const struct plausible *p, const struct rec_head *head);

#endif
