/* Kernel names by handle, from what the application registers while it loads. Cold; any thread. */
#ifndef PRELOAD_NAMES_H
#define PRELOAD_NAMES_H

#include <stdint.h>

/* The mangled name of the kernel that a launch names by `function`, NULL where nobody said. Valid while the kernel's library is
 * mapped. `door`: enum record_door of the launch call. */
const char *names_of(uint64_t function, unsigned door);

#endif
