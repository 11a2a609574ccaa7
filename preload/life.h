/*
 * Starts and ends the library's work in a process: the library is idle until the first CUDA call,
 * then active until exit.
 */
#ifndef PRELOAD_LIFE_H
#define PRELOAD_LIFE_H

#include <stdbool.h>

/*
 * Sets the library up: reads the settings and opens the journal. Called by each hooked call until
 * that is done, with depth above 0. Returns false while another thread sets the library up, which
 * takes some ms. The caller then makes only its real call.
 */
bool life_arm(void);

/*
 * Flushes all records and marks the journal as ended. Only the first call has an effect. Called
 * when the process ends.
 */
void life_finish(void);

/*
 * Registers life_finish() with atexit. Called again after the driver has registered its own
 * handlers, so that life_finish() runs before them.
 */
void life_register_exit(void);

/*
 * Called after each call, except launches and queries, until the driver is initialized. Writes what
 * is known of the devices, and lets life_finish() run before the driver's exit handlers: after them
 * the driver answers no more.
 */
void life_meet_driver(void);

#endif
