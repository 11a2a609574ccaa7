/*
 * The library as an NVTX injection. NVTX is header-only, so every library that marks ranges has its
 * own copy. Each copy loads the library that NVTX_INJECTION64_PATH names, calls its
 * InitializeInjectionNvtx2 with a table of function pointers, and from then on calls through those
 * that were filled in. `profrun run` sets the variable.
 */
#ifndef PRELOAD_NVTX_H
#define PRELOAD_NVTX_H

#include "preload/hook.h"

#define NVTX_NO_IMPL /* the types alone */
#include <nvtx3/nvToolsExt.h>

/* Fills in the table. Returns 1, or 0 if PROF_NVTX=off; NVTX then makes no calls. */
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

#endif
