/* Declarations that only lookup.c, lookup_dlsym.c and lookup_getproc.c share. */
#ifndef PRELOAD_LOOKUP_ENTRY_POINTS_H
#define PRELOAD_LOOKUP_ENTRY_POINTS_H

#include "preload/lookup.h"

#define HIDDEN __attribute__((visibility("hidden")))

typedef void *lookup_dlsym_function(void *handle, const char *name);

/* glibc's own dlsym, set by lookup_find_dlsym(). The trampoline in lookup_dlsym.c jumps to it. */
extern HIDDEN lookup_dlsym_function *lookup_real_dlsym;
void lookup_find_dlsym(void);

/*
 * Returns the row's real function for the caller that contains `return_address`, never one of our
 * wrappers. Returns NULL if there is none. Caches nothing.
 */
void *lookup_find(const struct hook_row *row, void *return_address);

/*
 * Returns the function `symbol` of one library, never one of our wrappers; NULL: there is none.
 * `handle` is from dlopen and may be NULL.
 */
void *lookup_in(void *handle, const char *symbol);

/*
 * Called when a function of the CUDA runtime was found in the object `runtime`, to detect a second
 * runtime.
 */
void lookup_notice_runtime_object(const struct link_map *runtime);

/* Returns whether `name` is one of the names of cuGetProcAddress. */
bool lookup_is_getter(const char *name);
/*
 * Returns the wrapper of cuGetProcAddress that dlsym returns for `name` instead of `found`, the
 * real function.
 */
void *lookup_wrap_getter(const char *name, void *found);

#endif
