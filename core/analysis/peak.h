/* What a device can do at most, by its data sheet. */
#ifndef CORE_PEAK_H
#define CORE_PEAK_H

#include "core/model/tables.h"

#include <stdbool.h>

/* TFLOP/s of dense matrix products of a type (enum library_type); f32 and f64 by tensor cores or without. 0: not known. */
double peak_tflops(const struct run_device *device, uint8_t type, bool by_tensor_cores);

/* GB/s at which a large copy between pinned memory and the device goes where it has all lanes of its generation; 0: not known. */
double peak_pinned_gbps(const struct run_device *device);

#endif
