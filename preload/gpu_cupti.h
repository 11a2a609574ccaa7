/* CUPTI's functions, of the library that matches the application. Loaded once and kept. */
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

/*
 * Fills `to`. `library` is a path, or "auto" for the library shipped with the application's own
 * runtime. Returns NULL, or a static text for the user that says what is wrong. One thread at a
 * time, within a hooked call. May change the text of dlerror().
 */
const char *gpu_cupti_open(const char *library, struct gpu_cupti *to);

#endif
