/*
 * CUPTI's functions, of the library that fits the application: found once, never let go.
 */
#ifndef PRELOAD_GPU_CUPTI_H
#define PRELOAD_GPU_CUPTI_H

#include "preload/hook.h" /* before cuda.h, whose macros rename what the table names */

#include <cupti.h>

/* Every function may be missing: CUPTI 11 to 13 differ. */
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

/* Fills `to`. `library`: a path, or "auto": what is beside the application's own runtime. Answers NULL, or what is wrong, for people. One thread
 * at a time, within a hooked call; dlerror()'s text may change. */
const char *gpu_cupti_open(const char *library, struct gpu_cupti *to);

#endif
