/* Finds the real functions, for wrappers and for applications that look them up by name. */
#ifndef PRELOAD_LOOKUP_H
#define PRELOAD_LOOKUP_H

#include "preload/hook.h"

struct link_map;

/*
 * Returns the real function of row `id` for the caller that contains `return_address`. Returns NULL
 * and logs once if there is none. Not on the hot path.
 */
void *lookup_real(enum hook_id id, void *return_address);

/* Returns the row of a symbol, or -1 if it is not hooked. */
int lookup_row(const char *symbol);

/* Calls glibc's dlsym, not the one that this library exports. */
void *lookup_dlsym(void *handle, const char *name);

/*
 * Returns the CUDA runtime's function `symbol`, hooked or not. It is of the runtime to which the
 * caller that contains `return_address` is linked. Returns NULL if there is none.
 */
void *lookup_runtime(const char *symbol, void *return_address);

/* Clears the message of dlerror() after our own look-ups, which the application must not get. */
void lookup_forget_error(void);

/* Do what lookup_runtime() does, for the driver and for libcupti. */
void *lookup_driver(const char *symbol, void *return_address);
void *lookup_cupti(const char *symbol, void *return_address);

/* Does what lookup_runtime() does, for NCCL, cuBLAS, cuBLASLt and cuDNN. */
void *lookup_library(const char *symbol, enum record_library library, void *return_address);

/* Returns whether more than one CUDA runtime has been detected in the process. */
bool lookup_has_many_runtimes(void);

/*
 * Called when a program registers its kernels with a CUDA runtime, to detect a second runtime.
 * `return_address` lies in the object that registers them.
 */
void lookup_notice_runtime(void *return_address);

#endif
