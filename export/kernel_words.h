/* Short names of kernels. */
#ifndef EXPORT_KERNEL_WORDS_H
#define EXPORT_KERNEL_WORDS_H

#include <stddef.h>

/*
 * Writes the name without the parts that are the same in hundreds of C++ kernels: return type,
 * arguments, namespaces. Template arguments and the function around a lambda stay, because they
 * distinguish a framework's kernels. Returns `to`.
 */
char *kernel_short(char *to, size_t bytes, const char *name);

#endif
