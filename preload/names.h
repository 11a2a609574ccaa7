/*
 * Returns kernel names by handle. The names come from what the application registers while it is
 * loaded. Not on the hot path; any thread.
 */
#ifndef PRELOAD_NAMES_H
#define PRELOAD_NAMES_H

#include <stdint.h>

/* Returns the mangled name of the kernel that a launch identifies by `function`, or NULL if it is
 * unknown. The text is valid while the kernel's library is mapped. */
const char *names_of(uint64_t function);

/* Records that the driver returned the handle `function` for the kernel `name`; NULL is ignored.
 * Copies the text, because the caller's text may not outlive the call. */
void names_copy(uint64_t function, const char *name);

#endif
