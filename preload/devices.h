/* Describes the process's GPUs in the journal. Cold. */
#ifndef PRELOAD_DEVICES_H
#define PRELOAD_DEVICES_H

/*
 * Writes DICT_DEVICE for each device, once per process. Does nothing if the driver is not
 * initialized yet; a later call tries again.
 */
void devices_describe(void);

/* Called in a forked child. */
void devices_forget(void);

#endif
