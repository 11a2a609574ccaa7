/*
 * The library as an NVTX injection. Each copy of NVTX in the process (it is a header, so every library that marks ranges has one)
 * loads what NVTX_INJECTION64_PATH names, calls InitializeInjectionNvtx2 there with its table of function pointers, and calls
 * through the pointers that were filled in from then on. `profrun run` sets the variable.
 */
#ifndef PRELOAD_NVTX_H
#define PRELOAD_NVTX_H

#include "preload/hook.h"

#define NVTX_NO_IMPL /* the types alone */
#include <nvtx3/nvToolsExt.h>

/* 1: filled in; 0: refused (PROF_NVTX=off), NVTX then calls nobody. */
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

#endif
