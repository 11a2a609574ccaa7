/* What a function of the CUDA or HIP API does, by its name. A trace says nothing else about it. */
#ifndef CORE_KINETO_API_H
#define CORE_KINETO_API_H

#include "core/runtime/kinds.h"

/* Returns the enum record_category of a function such as "cudaLaunchKernel"; CAT_CONTROL for one
 * that is not listed. */
uint8_t api_category(const char *name);
/* Returns the enum record_space of an allocation or of its release. */
uint8_t api_space(const char *name);
/* Returns the enum record_copy of GPU work, such as "Memcpy HtoD (Pinned -> Device)". */
uint8_t api_copy(const char *name);

#endif
