/*
 * Which launches the process has made before, by the hash of their trigram. While steps are
 * learned, new ones take a stack, which shows whether an optimizer makes them. Any thread, no lock;
 * a few nanoseconds. Has a fixed size; entries are never removed.
 */
#ifndef PRELOAD_STEPS_SEEN_H
#define PRELOAD_STEPS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether `hash` occurs for the first or second time. False once there is no room for new
 * ones. */
bool steps_seen_is_new(uint64_t hash);

void steps_seen_forget(void);

#endif
