/* NVTX is a header: here it becomes a library with its functions exported, for languages that call by name. */
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
