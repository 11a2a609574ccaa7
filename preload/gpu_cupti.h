/*
 * Finds CUPTI's functions in the libcupti that matches the application. The library is loaded once
 * and never unloaded.
 */
#ifndef PRELOAD_GPU_CUPTI_H
#define PRELOAD_GPU_CUPTI_H

#include "preload/hook.h" /* before cuda.h, whose macros rename functions that hooks.def names */

#include <cupti.h>

/* Any of these functions may be missing, because CUPTI 11 to 13 differ. */
#define CUPTI_FUNCTIONS(X)                        \
	X(cuptiGetVersion)                        \
	X(cuptiGetResultString)                   \
	X(cuptiGetCallbackName)                   \
	X(cuptiActivityRegisterCallbacks)         \
	X(cuptiActivityEnable)                    \
	X(cuptiActivityDisable)                   \
	X(cuptiActivityFlushAll)                  \
	X(cuptiActivityGetNextRecord)             \
	X(cuptiActivityGetNumDroppedRecords)      \
	X(cuptiActivityRegisterTimestampCallback) \
	X(cuptiActivityPushExternalCorrelationId) \
	X(cuptiActivityPopExternalCorrelationId)  \
	X(cuptiActivityEnableRuntimeApi)          \
	X(cuptiActivityEnableDriverApi)           \
	X(cuptiFinalize)

struct gpu_cupti {
#define X(name) __typeof__(&name) name;
	CUPTI_FUNCTIONS(X)
#undef X
};

/*
 * Fills `to`; a function that is missing becomes NULL. `library` is a path, or "auto" for the
 * library that was shipped with the application's own runtime. Returns NULL on success, or a static
 * text that tells the user what is wrong. Called by one thread at a time, within a hooked call. May
 * change what dlerror() returns.
 */
const char *gpu_cupti_open(const char *library, struct gpu_cupti *to);

#endif
