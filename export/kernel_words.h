/* A kernel's name for a person. */
#ifndef EXPORT_KERNEL_WORDS_H
#define EXPORT_KERNEL_WORDS_H

#include <stddef.h>

/*
 * Without what is the same in hundreds of C++ kernels: the return type, arguments, namespaces. Template arguments stay, since they tell a
 * framework's kernels apart, and of a lambda the function that it stands in. Returns `to`.
 */
char *kernel_short(char *to, size_t bytes, const char *name);

#endif
