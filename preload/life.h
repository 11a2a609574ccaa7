/* The library's life in a process: asleep until the first CUDA call, then recorded, until the process ends. */
#ifndef PRELOAD_LIFE_H
#define PRELOAD_LIFE_H

#include <stdbool.h>

/* Reads the settings and opens the journal. Called by the first hooked call, depth already above 0. False: another thread is at it, which takes
 * some ms; the caller does nothing but the call, as nothing is set up. */
bool life_arm(void);

/* Flushes and marks the end. Once; later calls return at once. */
void life_finish(void);

/* Registers life_finish behind what the driver has registered since, so that it runs before the driver goes. */
void life_register_exit(void);

#endif
