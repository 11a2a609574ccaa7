/* C++ names as people write them. Offline half only. */
#ifndef CORE_DEMANGLE_H
#define CORE_DEMANGLE_H

/* The readable name, or `name` itself where it is not a mangled one. Free it. */
char *demangle(const char *name);

#endif
