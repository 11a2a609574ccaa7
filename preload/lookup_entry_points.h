/* What the entry points share beyond lookup.h: lookup_dlsym.c and lookup_getproc.c, on top of lookup.c. */
#ifndef PRELOAD_LOOKUP_ENTRY_POINTS_H
#define PRELOAD_LOOKUP_ENTRY_POINTS_H

#include "preload/lookup.h"

#define HIDDEN __attribute__((visibility("hidden")))

typedef void *lookup_dlsym_function(void *handle, const char *name);

/* glibc's own, once it was looked for; dlsym's trampoline jumps there. */
extern HIDDEN lookup_dlsym_function *lookup_real_dlsym;
void lookup_find_dlsym(void);

/* The row's real function for a caller that returns to `return_address`, not one of our wrappers; NULL: none. Keeps nothing. */
void *lookup_find(const struct hook_row *row, void *return_address);

/* The same in a library that dlopen has given; `handle` may be NULL. */
void *lookup_in(void *handle, const char *symbol);

/* A function of the runtime was found in this object. */
void lookup_notice_runtime_object(const struct link_map *runtime);

/* dlsym found `found` for the name of a cuGetProcAddress: what it hands out instead. */
bool lookup_is_getter(const char *name);
void *lookup_wrap_getter(const char *name, void *found);

#endif
