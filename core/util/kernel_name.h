/* Properties of a kernel, derived from its name. */
#ifndef CORE_KERNEL_NAME_H
#define CORE_KERNEL_NAME_H

#include <stdbool.h>

/* Returns true if the name contains a part that NVIDIA's libraries, CUTLASS or FlashAttention use
 * in names of tensor-core kernels. Kernels with other names may use tensor cores, too. */
bool kernel_uses_tensor_cores(const char *name);

/* Returns true if optimizers launch the kernel. `name` may be mangled. */
bool kernel_is_optimizers(const char *name);

#endif
