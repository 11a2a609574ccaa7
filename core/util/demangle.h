/* Converts mangled names of functions to readable ones: C++, and Rust in its legacy mangling. Only
 * for the offline half, not for the preloaded library. */
#ifndef CORE_DEMANGLE_H
#define CORE_DEMANGLE_H

#include <stddef.h>

/* Returns the readable name, or a copy of `name` if the name is not mangled, exceeds a limit or has
 * Rust's v0 mangling ("_R..."). The caller frees the result. */
char *demangle(const char *name);

/* Returns the readable name without return type, parameters, and suffixes of functions that the
 * compiler split: "at::_ops::add__Tensor::call". The caller frees the result. */
char *demangle_function(const char *name);

/* If the readable name is longer than `most` bytes, replaces its template arguments by "<...>", in
 * place. The result may still be longer than `most`. */
void demangle_shorten(char *name, size_t most);

#endif
