/*
 * Finds loaded objects (the program and its libraries) by address, by CUDA library, or by what an
 * object was linked against.
 */
#ifndef PRELOAD_LOOKUP_OBJECTS_H
#define PRELOAD_LOOKUP_OBJECTS_H

#include "preload/hook.h"

#include <link.h>

/* Continues enum record_entry_point for libraries whose functions are not in hooks.def. */
enum {
	/* CUPTI, of which only the functions in gpu_yield.c are wrapped */
	ENTRY_POINT_CUPTI = ENTRY_POINT_DRIVER + 1,
	ENTRY_POINT_LIBRARIES, /* the first of the libraries in libs.def; add enum record_library */
};

/* Returns the object in which an address lies, or NULL. Any thread. */
const struct link_map *object_of(void *address);

/* Returns libprofrun.so itself. */
const struct link_map *object_own(void);

/* Returns whether the object's file name begins with one of the prefixes. */
bool object_is_named(const struct link_map *object, const char *const *prefixes, size_t n);

/*
 * Returns whether the object is the library that has the entry point's real functions. It is
 * identified by its file name, or by its soname if a stand-in has another file name.
 */
bool object_is_entry_point(const struct link_map *object, unsigned entry_point);

/*
 * Returns whether the loader searches the object before libprofrun.so: it is the program, or a
 * library that was preloaded before. These objects are never unloaded, so no lock is needed.
 */
bool object_is_before_own(const struct link_map *object);

/*
 * Returns a handle of a library that is mapped already; NULL: it is not. Loads nothing. The
 * library's reference is never dropped, because cached pointers must not outlive the library.
 */
void *object_mapped(const char *name);

/*
 * Returns a handle of the entry point's library that the caller was linked against (DT_NEEDED);
 * NULL: there is none. The result is right even with two runtimes in one process, and for a caller
 * loaded with RTLD_LOCAL, for which RTLD_NEXT finds nothing.
 */
void *object_needed_by(const struct link_map *caller, unsigned entry_point);

#endif
