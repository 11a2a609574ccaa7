/*
 * Derives facts about library calls (NCCL, cuBLAS, ...): floating-point operations, bytes, and the
 * GPU work that a call launched.
 */
#ifndef CORE_LIBRARY_H
#define CORE_LIBRARY_H

#include "core/model/model.h"

/*
 * Links each library call of the model to the CUDA calls it made and to the GPU work that these
 * CUDA calls launched. An NCCL group launches the work of its members when the group ends. Each
 * member gets a share of that GPU time in proportion to its bytes.
 */
void library_link(struct model_step *m);

/*
 * Returns the number of floating-point operations; 0 if it is unknown or the call failed. An
 * addition and a multiplication count as two operations.
 */
double library_flops(const struct model_library *l);

/*
 * Returns the bytes of a collective or message as nccl-tests counts them: for a gather, the sum of
 * all ranks' parts. Returns 0 for other calls.
 */
double library_bytes(const struct model_library *l, const struct tables *d);

/*
 * Returns the factor by which nccl-tests multiplies algorithm bandwidth to get bus bandwidth; 0:
 * unknown. Unlike algorithm bandwidth, bus bandwidth can be compared between jobs with different
 * numbers of ranks.
 */
double library_bus_factor(const struct model_library *l, const struct tables *d);

/*
 * Returns the name of a data type: "f32", "bf16", ...; "" if unknown. `facts` is the call's enum
 * library_facts. It determines whether `type` is a cudaDataType_t or a ncclDataType_t.
 */
const char *library_type_name(uint8_t facts, uint8_t type);

/* Returns "nccl", "cublas", ... for an enum record_library. */
const char *library_family_name(uint8_t family);

#endif
