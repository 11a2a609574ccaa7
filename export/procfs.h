/* What /proc says about processes. */
#ifndef EXPORT_PROCFS_H
#define EXPORT_PROCFS_H

#include <stdint.h>

/* When the process began (field 22 of its stat), 0 if there is none or it has ended and only waits for its parent. */
uint64_t procfs_start(uint32_t pid);

#endif
