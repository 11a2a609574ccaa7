/*
 * Remembers which launches the process has made before, by the hash of a launch and its two
 * predecessors (trigram, core/runtime/token.h). While steps are learned, a new trigram takes a
 * stack, which shows whether an optimizer made the launch. Any thread, no lock; a few nanoseconds.
 * The table has a fixed size, and entries are never removed.
 */
#ifndef PRELOAD_STEPS_SEEN_H
#define PRELOAD_STEPS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether `hash` occurs for the first or second time. Returns false for new hashes once the
 * table has no room for them. */
bool steps_seen_is_new(uint64_t hash);

void steps_seen_forget(void);

#endif
