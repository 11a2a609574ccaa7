/*
 * Which launches the process has made before, by their trigram's hash: while steps are learned, new ones take a stack, which says
 * whether an optimizer makes them. Any thread, no lock; some nanoseconds. It forgets nothing and stops at a fixed size.
 */
#ifndef PRELOAD_STEPS_SEEN_H
#define PRELOAD_STEPS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

/* Whether `hash` comes for the first or second time. False once there is no room for new ones. */
bool steps_seen_is_new(uint64_t hash);

void steps_seen_forget(void);

#endif
