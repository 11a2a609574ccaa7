/* What the calls of libraries amount to: operations, bytes, and the GPU work that they launched. */
#ifndef CORE_LIBRARY_H
#define CORE_LIBRARY_H

#include "core/model/model.h"

/* Of each call in the model: which calls it made and what these launched. What a group's members asked for is launched at the group's
 * end; each member has a share of that by its bytes. */
void library_link(struct model_step *m);

/* Floating-point operations, additions and multiplications counted apart; 0: not known. */
double library_flops(const struct model_library *l);

/* What a collective or message is said to move, as nccl-tests counts it: of a gather, all ranks' parts together. */
double library_bytes(const struct model_library *l, const struct tables *d);

/* From bytes per time to what goes over the links, whatever the number of ranks: nccl-tests' bus bandwidth. 0: not known. */
double library_bus_factor(const struct model_library *l, const struct tables *d);

/* "f32", "bf16", ...; "" for what is not known. */
const char *library_type_name(uint8_t facts, uint8_t type);

/* "cublas", ... of an enum record_library. */
const char *library_family_name(uint8_t family);

#endif
