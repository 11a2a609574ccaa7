/*
 * Tells the launcher that a process has loaded the CUDA driver, even if it never makes a call that
 * is hooked and so has no journal.
 */
#ifndef PRELOAD_USED_H
#define PRELOAD_USED_H

#include <stdbool.h>

/* Walks the loader's list, because dlopen() would search the disk for a file that is not mapped. */
bool used_driver_is_mapped(void);

/* Leaves the mark, an empty file in the run's folder, once per process. Keeps errno. Any thread. */
void used_note(void);

/* Leaves the mark if the driver is mapped. Called by the constructor and the destructor, because a
 * program may be linked with the driver, or look its functions up without cuGetProcAddress. */
void used_note_if_mapped(void);

#endif
