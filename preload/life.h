/* The library's life in a process: idle until the first CUDA call, then active until exit. */
#ifndef PRELOAD_LIFE_H
#define PRELOAD_LIFE_H

#include <stdbool.h>

/*
 * Reads the settings and opens the journal. Called by the first hooked call, with depth above 0.
 * Returns false while another thread does this, which takes some ms: nothing is set up yet, so the
 * caller makes only its real call.
 */
bool life_arm(void);

/* Flushes all records and marks the journal as ended. Later calls return at once. */
void life_finish(void);

/*
 * Registers life_finish() with atexit again, after the driver's own handlers, so that it runs
 * before them.
 */
void life_register_exit(void);

#endif
