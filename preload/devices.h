/* Writes descriptions of the process's GPUs to the journal. Not on the hot path. */
#ifndef PRELOAD_DEVICES_H
#define PRELOAD_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes a DICT_DEVICE record for each device, once per process. Returns false if the driver is not
 * initialized yet; a later call tries again.
 */
bool devices_describe(void);

/* Called in a forked child, so that the child describes the devices in its own journal. */
void devices_forget(void);

/*
 * Gives a context that the program created a number, from 1 to 63. Numbers are used again after 63
 * contexts. Primary contexts have no number.
 */
void devices_number_context(void *context);

/*
 * Returns the number of the calling thread's current context; 0: a primary context, or one without
 * a number.
 */
uint8_t devices_context(void);

/* Returns the device of the calling thread's current context; -1: it has none. */
int devices_current(void);

#endif
