/* Peak rates of devices, from their data sheets. */
#ifndef CORE_PEAK_H
#define CORE_PEAK_H

#include "core/model/tables.h"

#include <stdbool.h>

/* Returns the peak TFLOP/s of dense matrix products of a type (enum library_type), for f32 and f64
 * with or without tensor cores. 0: not known. */
double peak_tflops(const struct run_device *device, uint8_t type, bool by_tensor_cores);

/* Returns the GB/s of a large copy between pinned memory and a device that has all PCI Express
 * lanes of its generation; 0: not known. */
double peak_pinned_gbps(const struct run_device *device);

#endif
