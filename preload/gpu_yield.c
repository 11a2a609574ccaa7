/*
 * Two profilers, one CUPTI: its callbacks are one pair per process and the last one to register has them. When the application's
 * own profiler comes (libtorch calls CUPTI through the PLT, so these exports see it), ours is flushed and switched off first;
 * when the last kind of record that it enabled is disabled again, ours goes on. In between calls are timed on the host, and
 * the trace says so. Cold: some calls per profiler session.
 */
#include "preload/gpu_yield.h"

#include "preload/gpu.h"
#include "preload/hook.h"
#include "preload/lookup.h"

static struct {
	_Atomic uint64_t kinds; /* that the application has enabled */
	_Atomic(CUpti_BuffersCallbackCompleteFunc) completed;
} g;

/* Ours is called with our depth above 0: nothing of the library's own passes here as the application's. */
static bool is_application(void)
{
	return hook_thread.depth == 0;
}

static void *real(const char *symbol, void *return_address)
{
	return lookup_cupti(symbol, return_address);
}

static uint64_t bit(CUpti_ActivityKind kind)
{
	return (unsigned)kind < 64 ? 1ull << kind : 0;
}

/* What CUPTI calls of itself inside is not the application's either: the depth stays up until the real function is back. */
#define NEXT(function)                                                               \
	__typeof__(&(function)) next = real(#function, __builtin_return_address(0)); \
	bool is_theirs = is_application();                                           \
	if (!next)                                                                   \
		return CUPTI_ERROR_NOT_INITIALIZED;                                  \
	hook_thread.depth++

#define BACK(status)                 \
	do {                         \
		hook_thread.depth--; \
		return status;       \
	} while (0)

EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
						  CUpti_BuffersCallbackCompleteFunc completed)
{
	NEXT(cuptiActivityRegisterCallbacks);
	if (is_theirs) {
		gpu_yield();
		atomic_store(&g.completed, completed);
	}
	CUptiResult status = next(requested, completed);
	BACK(status);
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	NEXT(cuptiActivityEnable);
	if (is_theirs && !atomic_fetch_or(&g.kinds, bit(kind)))
		gpu_yield();
	CUptiResult status = next(kind);
	BACK(status);
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	NEXT(cuptiActivityDisable);
	CUptiResult status = next(kind);
	if (is_theirs && atomic_fetch_and(&g.kinds, ~bit(kind)) == bit(kind))
		gpu_resume();
	BACK(status);
}

/* Takes CUPTI down for everyone; what we enable afterwards brings it up again. */
EXPORT CUptiResult cuptiFinalize(void)
{
	NEXT(cuptiFinalize);
	if (is_theirs)
		gpu_yield();
	CUptiResult status = next();
	if (is_theirs) {
		atomic_store(&g.kinds, 0);
		gpu_resume();
	}
	BACK(status);
}

void gpu_yield_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
		      size_t valid_bytes)
{
	CUpti_BuffersCallbackCompleteFunc completed = atomic_load(&g.completed);
	if (completed)
		completed(context, stream, buffer, bytes, valid_bytes);
}

void gpu_yield_forget(void)
{
	atomic_store(&g.kinds, 0);
	atomic_store(&g.completed, NULL);
}
