/*
 * Shares CUPTI with the application's own profiler. A process has one pair of CUPTI callbacks; the
 * last one to register gets all buffers. The functions exported here notice when the application's
 * profiler starts: libtorch calls CUPTI through the PLT, XLA through dlsym. Then profrun's records
 * are flushed and its GPU timing stops, before the profiler's call is passed on. GPU timing
 * continues when the application has disabled its last kind of record and flushed its records. In
 * between, calls are timed on the host only, and the trace says so.
 *
 * A process also has only one clock for CUPTI's records. The application gets its own clock back
 * when its profiler starts. This code is not on the hot path: a few calls per profiler session.
 */
#include "preload/gpu_yield.h"

#include "preload/gpu.h"
#include "preload/gpu_records.h"
#include "preload/gpu_teardown.h"
#include "preload/hook.h"
#include "preload/lookup.h"
#include "preload/lookup_objects.h"

#include <cupti_pcsampling.h>
#include <cupti_profiler_target.h>
#include <string.h>
#include <time.h>

static struct {
	_Atomic uint64_t kinds; /* record kinds enabled by the application, one bit each */
	_Atomic(CUpti_BuffersCallbackCompleteFunc) completed; /* registered by the application */
	_Atomic(CUpti_TimestampCallbackFunc) clock;	      /* registered by the application */
} g;

/*
 * Enters a wrapper. Returns whether the application makes the call, rather than CUPTI or this
 * library. The depth of hooked calls cannot decide that, because a tool may call CUPTI from within
 * a hooked call: a tool that CUDA loads when CUDA starts (CUDA_INJECTION64_PATH), or one that runs
 * in a CUPTI callback.
 */
static bool enter(void *caller)
{
	hook_thread.depth++;
	return !hook_thread.calls_cupti &&
	       !object_is_entry_point(object_of(caller), ENTRY_POINT_CUPTI);
}

#define ENTER() enter(__builtin_return_address(0))

static void leave(void)
{
	if (hook_thread.depth) /* hook_was_left() may have set the depth to 0 meanwhile */
		hook_thread.depth--;
}

static void *real(const char *name, void *caller);
#define REAL(function) ((__typeof__(&(function)))real(#function, __builtin_return_address(0)))

static uint64_t bit(CUpti_ActivityKind kind)
{
	return (unsigned)kind < 64 ? 1ull << kind : 0;
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
						  CUpti_BuffersCallbackCompleteFunc completed)
{
	__typeof__(&cuptiActivityRegisterCallbacks) next = REAL(cuptiActivityRegisterCallbacks);
	if (ENTER()) {
		gpu_yield();
		atomic_store(&g.completed, completed);
		if (completed) /* one of profrun's buffers may still be completed late */
			completed = gpu_buffer_completed;
	}
	CUptiResult status = next ? next(requested, completed) : CUPTI_ERROR_NOT_INITIALIZED;
	leave();
	return status;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	__typeof__(&cuptiActivityEnable) next = REAL(cuptiActivityEnable);
	if (ENTER() && !atomic_fetch_or(&g.kinds, bit(kind)))
		gpu_yield();
	CUptiResult status = next ? next(kind) : CUPTI_ERROR_NOT_INITIALIZED;
	leave();
	return status;
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	__typeof__(&cuptiActivityDisable) next = REAL(cuptiActivityDisable);
	bool is_application = ENTER();
	CUptiResult status = next ? next(kind) : CUPTI_ERROR_NOT_INITIALIZED;
	if (is_application && atomic_fetch_and(&g.kinds, ~bit(kind)) == bit(kind))
		gpu_left();
	leave();
	return status;
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	__typeof__(&cuptiActivityFlushAll) next = REAL(cuptiActivityFlushAll);
	bool is_application = ENTER();
	CUptiResult status = next ? next(flag) : CUPTI_ERROR_NOT_INITIALIZED;
	if (is_application && !atomic_load(&g.kinds))
		gpu_resume();
	leave();
	return status;
}

/* A torch.profiler session calls this first. */
EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
	__typeof__(&cuptiActivityRegisterTimestampCallback) next =
		REAL(cuptiActivityRegisterTimestampCallback);
	bool is_application = ENTER();
	if (is_application)
		gpu_yield();
	CUptiResult status = next ? next(funcTimestamp) : CUPTI_ERROR_NOT_INITIALIZED;
	if (is_application && !status)
		atomic_store(&g.clock, funcTimestamp);
	/* the application has enabled no kind: timing may continue */
	if (is_application && !atomic_load(&g.kinds))
		gpu_left();
	leave();
	return status;
}

/*
 * Wraps other functions that create state in CUPTI, because taking CUPTI down would destroy that
 * state. These functions do not conflict with profrun's own GPU timing, so the timing continues.
 */
#define SHARED(function, params, args)                                               \
	EXPORT CUptiResult function params                                           \
	{                                                                            \
		__typeof__(&function) next = REAL(function);                         \
		if (ENTER())                                                         \
			gpu_teardown_application();                                  \
		CUptiResult status = next ? next args : CUPTI_ERROR_NOT_INITIALIZED; \
		leave();                                                             \
		return status;                                                       \
	}

SHARED(cuptiSubscribe,
       (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void *userdata),
       (subscriber, callback, userdata))
#if CUPTI_API_VERSION >= 130000
SHARED(cuptiSubscribe_v2,
       (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void *userdata,
	CUpti_SubscriberParams *params),
       (subscriber, callback, userdata, params))
#endif
SHARED(cuptiActivityEnableContext, (CUcontext context, CUpti_ActivityKind kind), (context, kind))
SHARED(cuptiSetEventCollectionMode, (CUcontext context, CUpti_EventCollectionMode mode),
       (context, mode))
SHARED(cuptiProfilerInitialize, (CUpti_Profiler_Initialize_Params * params), (params))
SHARED(cuptiPCSamplingEnable, (CUpti_PCSamplingEnableParams * params), (params))

/*
 * Takes CUPTI down for the application and for profrun. CUPTI starts again when profrun next
 * enables a record kind.
 */
EXPORT CUptiResult cuptiFinalize(void)
{
	__typeof__(&cuptiFinalize) next = REAL(cuptiFinalize);
	bool is_application = ENTER();
	if (is_application)
		gpu_yield();
	CUptiResult status = next ? next() : CUPTI_ERROR_NOT_INITIALIZED;
	if (is_application) {
		atomic_store(&g.kinds, 0);
		if (!status)
			gpu_is_down();
		gpu_left();
		gpu_resume();
	}
	leave();
	return status;
}

/*
 * `given`: the real function as dlsym found it, if lookup_cupti() does not find the libcupti that
 * has it.
 */
#define WRAPPER(function)                           \
	{                                           \
#function, (void *)(function), NULL \
	}
static struct wrapper {
	const char *name;
	void *function;
	_Atomic(void *) given;
} wrappers[] = {
	WRAPPER(cuptiActivityRegisterCallbacks),
	WRAPPER(cuptiActivityRegisterTimestampCallback),
	WRAPPER(cuptiActivityEnable),
	WRAPPER(cuptiActivityEnableContext),
	WRAPPER(cuptiActivityDisable),
	WRAPPER(cuptiActivityFlushAll),
	WRAPPER(cuptiFinalize),
	WRAPPER(cuptiSubscribe),
#if CUPTI_API_VERSION >= 130000
	WRAPPER(cuptiSubscribe_v2),
#endif
	WRAPPER(cuptiSetEventCollectionMode),
	WRAPPER(cuptiProfilerInitialize),
	WRAPPER(cuptiPCSamplingEnable),
};

static struct wrapper *find(const char *name)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++)
		if (!strcmp(wrappers[i].name, name))
			return &wrappers[i];
	return NULL;
}

static void *real(const char *name, void *caller)
{
	void *found = lookup_cupti(name, caller);
	return found ? found : atomic_load(&find(name)->given);
}

void *gpu_yield_wrapper(const char *name)
{
	const struct wrapper *w = find(name);
	return w ? w->function : NULL;
}

bool gpu_yield_stands_for(const char *name, void *found, void *caller)
{
	void *own = lookup_cupti(name, caller);
	if (!own)
		atomic_store(&find(name)->given, found);
	else if (own != found)
		gpu_teardown_application();
	return !own || own == found;
}

void gpu_yield_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
		      size_t valid_bytes)
{
	CUpti_BuffersCallbackCompleteFunc completed = atomic_load(&g.completed);
	if (completed)
		completed(context, stream, buffer, bytes, valid_bytes);
}

static uint64_t CUPTIAPI cupti_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

CUpti_TimestampCallbackFunc gpu_yield_clock(void)
{
	CUpti_TimestampCallbackFunc clock = atomic_load(&g.clock);
	return clock ? clock : cupti_clock;
}

void gpu_yield_forget(void)
{
	atomic_store(&g.clock, NULL);
	atomic_store(&g.kinds, 0);
	atomic_store(&g.completed, NULL);
}
