/* Derives from library calls their operations, bytes, and the GPU work that they launched. */
#ifndef CORE_LIBRARY_H
#define CORE_LIBRARY_H

#include "core/model/model.h"

/* Links each library call of the model to the CUDA calls it made and the GPU work these launched.
 * The work of an NCCL group's members is launched at the group's end; each member gets a share by
 * its bytes. */
void library_link(struct model_step *m);

/* Returns floating-point operations, additions and multiplications counted separately; 0:
 * unknown. */
double library_flops(const struct model_library *l);

/* Returns the size of a collective or message as nccl-tests counts it: of a gather, the sum of all
 * ranks' parts. */
double library_bytes(const struct model_library *l, const struct tables *d);

/* Returns nccl-tests' factor from algorithm bandwidth to bus bandwidth, which is comparable between
 * numbers of ranks. 0: unknown. */
double library_bus_factor(const struct model_library *l, const struct tables *d);

/* Returns "f32", "bf16", ...; "" if unknown. */
const char *library_type_name(uint8_t facts, uint8_t type);

/* Returns "cublas", ... for an enum record_library. */
const char *library_family_name(uint8_t family);

#endif
