/* Loaded objects: which one an address lies in, which CUDA library one is, which one it was linked against. */
#ifndef PRELOAD_LOOKUP_OBJECTS_H
#define PRELOAD_LOOKUP_OBJECTS_H

#include "preload/hook.h"

#include <link.h>

/* enum hook_entry_point goes on: libraries whose functions are no rows of hooks.def. */
enum {
	ENTRY_POINT_CUPTI = ENTRY_POINT_DRIVER + 1, /* the few functions of gpu_yield.c */
	ENTRY_POINT_LIBRARIES, /* and enum record_library: libs.def has their rows */
};

/* NULL: none. */
const struct link_map *object_of(void *address);

/* libprofrun.so. */
const struct link_map *object_own(void);

/* Whether the file name begins with one of them. */
bool object_is_named(const struct link_map *object, const char *const *prefixes, size_t n);

/* The library that carries a entry point's real functions: by file name, or by soname where a stand-in has another file name. */
bool object_is_entry_point(const struct link_map *object, unsigned entry_point);

/* A handle of a library that is mapped already, by name, without loading anything. The reference is kept on purpose: a cached
 * pointer must not outlive its library. */
void *object_mapped(const char *name);

/* The entry point's library that the caller was linked against, as its own DT_NEEDED names it: right also where two runtimes are
 * in one process, and where the caller was loaded RTLD_LOCAL, so that RTLD_NEXT sees nothing. */
void *object_needed_by(const struct link_map *caller, unsigned entry_point);

#endif
