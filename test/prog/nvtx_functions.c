/*
 * NVTX is a header. Here it becomes a library that exports its functions, for languages that call
 * by name.
 */
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
