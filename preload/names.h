/*
 * Kernel names by handle, from what the application registers while it is loaded. Cold; any thread.
 */
#ifndef PRELOAD_NAMES_H
#define PRELOAD_NAMES_H

#include <stdint.h>

/* Returns the mangled name of the kernel that a launch identifies by `function`, NULL if unknown.
 * Valid while the kernel's library is mapped. */
const char *names_of(uint64_t function);

/* Records that the driver returned handle `function` for `name` (NULL: unknown). Copies the text,
 * which may not outlive the call. */
void names_copy(uint64_t function, const char *name);

#endif
