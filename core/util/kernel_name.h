/* Properties of a kernel, derived from its name. */
#ifndef CORE_KERNEL_NAME_H
#define CORE_KERNEL_NAME_H

#include <stdbool.h>

/* Returns whether the name is one that NVIDIA's libraries, CUTLASS or FlashAttention give to
 * kernels on tensor cores. Kernels with other names may use tensor cores, too. */
bool kernel_uses_tensor_cores(const char *name);

/* Returns whether optimizers launch the kernel. `name` may be mangled. */
bool kernel_is_optimizers(const char *name);

#endif
