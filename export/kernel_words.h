/* Short names of kernels. */
#ifndef EXPORT_KERNEL_WORDS_H
#define EXPORT_KERNEL_WORDS_H

#include <stddef.h>

/*
 * Writes the name without what is the same in hundreds of C++ kernels: return type, arguments,
 * namespaces. Template arguments stay, since they distinguish a framework's kernels, and so does
 * the function around a lambda. Returns `to`.
 */
char *kernel_short(char *to, size_t bytes, const char *name);

#endif
