/* What a kernel's name tells about it. */
#ifndef CORE_KERNEL_NAME_H
#define CORE_KERNEL_NAME_H

#include <stdbool.h>

/* By how NVIDIA's libraries, CUTLASS and FlashAttention name theirs; a kernel of another name may use them unseen. */
bool kernel_uses_tensor_cores(const char *name);

/* Whether it is one that optimizers launch. `name` may be mangled. */
bool kernel_is_optimizers(const char *name);

#endif
