/* Shared by lookup.c, lookup_dlsym.c and lookup_getproc.c alone. */
#ifndef PRELOAD_LOOKUP_ENTRY_POINTS_H
#define PRELOAD_LOOKUP_ENTRY_POINTS_H

#include "preload/lookup.h"

#define HIDDEN __attribute__((visibility("hidden")))

typedef void *lookup_dlsym_function(void *handle, const char *name);

/* glibc's own dlsym, set by lookup_find_dlsym(); the trampoline jumps there. */
extern HIDDEN lookup_dlsym_function *lookup_real_dlsym;
void lookup_find_dlsym(void);

/*
 * Returns the row's real function for a caller that returns to `return_address`, never one of our
 * wrappers; NULL: none. Caches nothing.
 */
void *lookup_find(const struct hook_row *row, void *return_address);

/* The same within one library; `handle` is from dlopen and may be NULL. */
void *lookup_in(void *handle, const char *symbol);

/* A function of the runtime was found in this object: detects a second runtime. */
void lookup_notice_runtime_object(const struct link_map *runtime);

/* Names of cuGetProcAddress; and what dlsym returns for one instead of the real `found`. */
bool lookup_is_getter(const char *name);
void *lookup_wrap_getter(const char *name, void *found);

#endif
