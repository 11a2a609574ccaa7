/* Finds the real functions, for wrappers and for applications that look them up by name. */
#ifndef PRELOAD_LOOKUP_H
#define PRELOAD_LOOKUP_H

#include "preload/hook.h"

struct link_map;

/*
 * Returns the real function of row `id` for a caller that returns to `return_address`. Returns NULL
 * and logs once if there is none. Cold.
 */
void *lookup_real(enum hook_id id, void *return_address);

/* Returns the row of a symbol, or -1 if it is not hooked. */
int lookup_row(const char *symbol);

/* Calls glibc's dlsym, not the one that this library exports. */
void *lookup_dlsym(void *handle, const char *name);

/*
 * Returns the runtime's function `symbol`, hooked or not, to which the caller that returns to
 * `return_address` is linked; NULL: none.
 */
void *lookup_runtime(const char *symbol, void *return_address);

/* Clears dlerror() after our own look-ups: the application must not get the message of one. */
void lookup_forget_error(void);

/* The same as lookup_runtime() for the driver and for libcupti. */
void *lookup_driver(const char *symbol, void *return_address);
void *lookup_cupti(const char *symbol, void *return_address);

/* The same for NCCL, cuBLAS, cuBLASLt and cuDNN. */
void *lookup_library(const char *symbol, enum record_library library, void *return_address);

bool lookup_has_many_runtimes(void);

/* Called for a runtime's registration call, to detect a second runtime in the process. */
void lookup_notice_runtime(void *return_address);

#endif
