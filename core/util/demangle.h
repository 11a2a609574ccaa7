/* Readable names of C++ functions and of Rust ones in the legacy mangling. Offline half only. */
#ifndef CORE_DEMANGLE_H
#define CORE_DEMANGLE_H

#include <stddef.h>

/* Returns the readable name, or a copy of `name` if it is not mangled, exceeds a limit or has
 * Rust's v0 mangling ("_R..."). Free it. */
char *demangle(const char *name);

/* Returns it without return type, parameters and clone suffixes: "at::_ops::add__Tensor::call".
 * Free it. */
char *demangle_function(const char *name);

/* Replaces template arguments by "<...>", in place, if the name is longer than `most` bytes. */
void demangle_shorten(char *name, size_t most);

#endif
