/* Declarations that only lookup.c, lookup_dlsym.c and lookup_getproc.c share. */
#ifndef PRELOAD_LOOKUP_ENTRY_POINTS_H
#define PRELOAD_LOOKUP_ENTRY_POINTS_H

#include "preload/lookup.h"

#define HIDDEN __attribute__((visibility("hidden")))

typedef void *lookup_dlsym_function(void *handle, const char *name);
typedef void *lookup_dlvsym_function(void *handle, const char *name, const char *version);

/*
 * The next definitions after this library: glibc's, or those of another interposer. Set by
 * lookup_find_dlsym(). The trampolines in lookup_dlsym.c jump to them.
 */
extern HIDDEN lookup_dlsym_function *lookup_next_dlsym;
extern HIDDEN lookup_dlvsym_function *lookup_next_dlvsym;
void lookup_find_dlsym(void);

/*
 * Returns the function to which our wrapper goes on if the caller that contains `return_address`
 * reached the wrapper by its exported symbol. This is the next definition in global scope, which
 * may be another interposer's; otherwise it is the function of the CUDA library. The result is
 * never a wrapper of ours or a function of the calling object. Returns NULL if there is none.
 * Caches nothing.
 */
void *lookup_find(const struct hook_row *row, void *return_address);

/*
 * Returns whether the caller would find the symbol by its name if this library were not preloaded.
 * It does not if the CUDA library was loaded with RTLD_LOCAL, and the caller is not linked to it.
 */
bool lookup_is_in_scope(const char *symbol, unsigned entry_point, void *return_address);

/*
 * Returns the next definition after this library in global scope if another interposer has it;
 * otherwise NULL. May leave a message for dlerror().
 */
void *lookup_interposer(const struct hook_row *row);

/*
 * Returns what a program gets that has looked up row `id` by name, and for which the lookup found
 * `found`: a wrapper that goes on to `found`, or `found` itself if there is no such wrapper. Clears
 * the message of dlerror(). Defined in lookup_doors.c.
 */
void *lookup_give(enum hook_id id, void *found);

/*
 * Returns the function to which the wrapper of row `id` goes on in this call, if lookup_give() has
 * handed out a wrapper for another function than the one that the exported symbol stands for.
 * Returns NULL if the exported symbol is meant or there is only one function.
 */
void *lookup_given(enum hook_id id);

/* Returns whether row `id` has a function that lookup_given() may return. */
bool lookup_is_divided(enum hook_id id);

/*
 * Returns the function `symbol` that a search of one library finds, never one of our wrappers;
 * NULL: there is none. `handle` is from dlopen and may be NULL.
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
 * Returns what a program gets that has looked up cuGetProcAddress by one of its names: our wrapper,
 * which goes on to `found`, or `found` itself.
 */
void *lookup_give_getter(const char *name, void *found);

#endif
