/* Finding the real functions, and the entry points through which an application asks for CUDA functions by name. */
#ifndef PRELOAD_LOOKUP_H
#define PRELOAD_LOOKUP_H

#include "preload/hook.h"

struct link_map;

/* The real function of row `id` for a caller that returns to `return_address`; NULL, said once, where there is none. Cold. */
void *lookup_real(enum hook_id id, void *return_address);

/* The row of a symbol, -1: not hooked. */
int lookup_row(const char *symbol);

/* glibc's dlsym itself, not the application's view of it. */
void *lookup_dlsym(void *handle, const char *name);

/* The runtime's function `symbol`, hooked or not, that the caller at `return_address` is linked to; NULL: none. */
void *lookup_runtime(const char *symbol, void *return_address);

/* Our own look-ups are over: what one of them did not find must not be what the application's next dlerror() tells. */
void lookup_forget_error(void);

/* The same of the driver, of libcupti. */
void *lookup_driver(const char *symbol, void *return_address);
void *lookup_cupti(const char *symbol, void *return_address);

/* The same of NCCL, cuBLAS, cuBLASLt, cuDNN. */
void *lookup_library(const char *symbol, enum record_library library, void *return_address);

bool lookup_has_many_runtimes(void);

/* A runtime's registration call came from `return_address`: notices that there is more than one runtime. */
void lookup_notice_runtime(void *return_address);

#endif
