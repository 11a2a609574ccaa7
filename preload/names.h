/* Kernel names by handle, from what the application registers while it loads. Cold; any thread. */
#ifndef PRELOAD_NAMES_H
#define PRELOAD_NAMES_H

#include <stdint.h>

/* The mangled name of the kernel that a launch names by `function`, NULL where nobody said. Valid while the kernel's library is
 * mapped. */
const char *names_of(uint64_t function);

/* The driver gave out handle `function` for `name` (NULL: unknown); the text may be gone tomorrow, so it is copied. */
void names_copy(uint64_t function, const char *name);

#endif
