/* Loaded objects: finds them by address, by CUDA library, and by what they were linked against. */
#ifndef PRELOAD_LOOKUP_OBJECTS_H
#define PRELOAD_LOOKUP_OBJECTS_H

#include "preload/hook.h"

#include <link.h>

/* Continues enum record_entry_point for libraries whose functions are not in hooks.def. */
enum {
	ENTRY_POINT_CUPTI = ENTRY_POINT_DRIVER + 1, /* the few functions of gpu_yield.c */
	ENTRY_POINT_LIBRARIES, /* plus enum record_library, for the rows of libs.def */
};

/* Returns the object in which an address lies, or NULL. */
const struct link_map *object_of(void *address);

/* Returns libprofrun.so itself. */
const struct link_map *object_own(void);

/* Returns whether the object's file name begins with one of the prefixes. */
bool object_is_named(const struct link_map *object, const char *const *prefixes, size_t n);

/*
 * Returns whether the object is the library that has the entry point's real functions: by file
 * name, or by soname for a stand-in with another file name.
 */
bool object_is_entry_point(const struct link_map *object, unsigned entry_point);

/*
 * Returns a handle of a library that is mapped already; loads nothing. The reference is never
 * dropped: a cached pointer must not outlive its library.
 */
void *object_mapped(const char *name);

/*
 * Returns a handle of the entry point's library that the caller was linked against (DT_NEEDED).
 * That is right also with two runtimes in one process, and for a caller loaded RTLD_LOCAL, for
 * which RTLD_NEXT finds nothing.
 */
void *object_needed_by(const struct link_map *caller, unsigned entry_point);

#endif
