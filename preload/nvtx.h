/*
 * Lets NVTX load this library as an injection. NVTX is header-only, so every library that marks
 * ranges contains its own copy. Each copy loads the library that NVTX_INJECTION64_PATH names, calls
 * the library's InitializeInjectionNvtx2, and gets the addresses of its functions. From then on the
 * copy calls those functions. `profrun run` sets the variable.
 */
#ifndef PRELOAD_NVTX_H
#define PRELOAD_NVTX_H

#include "preload/hook.h"

#define NVTX_NO_IMPL /* only the types, not the functions */
#include <nvtx3/nvToolsExt.h>

/* Stores profrun's functions in the table that `get_table` returns. Returns 1; returns 0 if
 * PROF_NVTX=off or the table is not usable, and NVTX then makes no calls. */
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

#endif
