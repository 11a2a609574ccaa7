/* What the GPUs are, asked of the driver once it is up. Cold. */
#ifndef PRELOAD_DEVICES_H
#define PRELOAD_DEVICES_H

/* Writes DICT_DEVICE for each device, once per process; tries again later where the driver is not up yet. */
void devices_describe(void);

void devices_forget(void);

#endif
