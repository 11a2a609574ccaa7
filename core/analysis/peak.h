/* Peak rates of GPUs, from their data sheets. */
#ifndef CORE_PEAK_H
#define CORE_PEAK_H

#include "core/model/tables.h"

#include <stdbool.h>

/* Returns the peak TFLOP/s of dense matrix products of a type (enum library_type); 0: not known.
 * `by_tensor_cores` selects the rate of f32 and f64 products; for other types it is ignored. */
double peak_tflops(const struct run_device *device, uint8_t type, bool by_tensor_cores);

/* Returns whether the table has the device. */
bool peak_has_device(const struct run_device *device);

/* Returns the GB/s that a large copy between pinned memory and the device reaches if the
 * machine connects all PCI Express lanes that the device has; 0: not known, or not PCI Express. */
double peak_pinned_gbps(const struct run_device *device);

/* Returns the GB/s of the device's memory; 0: not known. */
double peak_memory_gbps(const struct run_device *device);

#endif
