/* Names as people write them. Offline half only. */
#ifndef CORE_DEMANGLE_H
#define CORE_DEMANGLE_H

#include <stddef.h>

/* The readable name (C++, Rust), or `name` itself where it is not a mangled one. Free it. */
char *demangle(const char *name);

/* The same without return type, parameters and the compiler's notes on clones: "at::_ops::add__Tensor::call". Free it. */
char *demangle_function(const char *name);

/* A name of more than `most` bytes gets "<...>" for its templates' arguments. In place. */
void demangle_shorten(char *name, size_t most);

/* Rust's names, old ("_ZN...17h<hash>E") and v0 ("_R..."); NULL where `name` is neither. Free it. */
char *demangle_rust(const char *name);

#endif
