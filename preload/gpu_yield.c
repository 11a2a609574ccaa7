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

static void give_way(void)
{
	hook_thread.depth = 1;
	gpu_yield();
	hook_thread.depth = 0;
}

static void come_back(void)
{
	hook_thread.depth = 1;
	gpu_resume();
	hook_thread.depth = 0;
}

static uint64_t bit(CUpti_ActivityKind kind)
{
	return (unsigned)kind < 64 ? 1ull << kind : 0;
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
						  CUpti_BuffersCallbackCompleteFunc completed)
{
	__typeof__(&cuptiActivityRegisterCallbacks) next =
		real("cuptiActivityRegisterCallbacks", __builtin_return_address(0));
	if (!next)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (is_application()) {
		give_way();
		atomic_store(&g.completed, completed);
	}
	return next(requested, completed);
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	__typeof__(&cuptiActivityEnable) next =
		real("cuptiActivityEnable", __builtin_return_address(0));
	if (!next)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (is_application() && !atomic_fetch_or(&g.kinds, bit(kind)))
		give_way();
	return next(kind);
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	__typeof__(&cuptiActivityDisable) next =
		real("cuptiActivityDisable", __builtin_return_address(0));
	if (!next)
		return CUPTI_ERROR_NOT_INITIALIZED;
	CUptiResult status = next(kind);
	if (is_application() && atomic_fetch_and(&g.kinds, ~bit(kind)) == bit(kind))
		come_back();
	return status;
}

/* Takes CUPTI down for everyone; what we enable afterwards brings it up again. */
EXPORT CUptiResult cuptiFinalize(void)
{
	__typeof__(&cuptiFinalize) next = real("cuptiFinalize", __builtin_return_address(0));
	if (!next)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (is_application())
		give_way();
	CUptiResult status = next();
	if (is_application()) {
		atomic_store(&g.kinds, 0);
		come_back();
	}
	return status;
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
