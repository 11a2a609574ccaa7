/* The parts of demangle_rust that are files of their own. */
#ifndef CORE_DEMANGLE_RUST_H
#define CORE_DEMANGLE_RUST_H

/* `name`: behind "_R". NULL where it doesn't follow the grammar, or has forms that functions' names seldom have. Free it. */
char *demangle_rust_v0(const char *name);

#endif
