/*
 * Contexts, and the initialization of the driver. Runs on the application's threads.
 */
#include "test/sim/engine.h"

#include <stdatomic.h>
#include <stdlib.h>

struct device engine_devices[ENGINE_MAX_DEVICES];

static bool initialised;
static atomic_bool deinitialised;
/* The contexts by index. The index of a destroyed context is reused. */
static struct context *contexts[ENGINE_MAX_CONTEXTS];
static uint32_t last_context_id;

int engine_device_count(void)
{
	return initialised ? (int)engine_settings.devices : 0;
}

bool engine_has_context(void)
{
	for (int i = 0; i < ENGINE_MAX_CONTEXTS; i++)
		if (contexts[i])
			return true;
	return false;
}

/* As the driver's own handler, which cuInit() registers, does */
static void deinitialise(void)
{
	deinitialised = true;
}

CUresult sim_cuInit(unsigned flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (engine_settings.devices < 1)
		return CUDA_ERROR_NO_DEVICE;
	pthread_mutex_lock(&engine_lock);
	for (int i = 0; i < ENGINE_MAX_DEVICES; i++)
		engine_devices[i].ordinal = i;
	if (!initialised)
		atexit(deinitialise);
	initialised = true;
	pthread_mutex_unlock(&engine_lock);
	return CUDA_SUCCESS;
}

CUresult engine_init_check(void)
{
	if (deinitialised)
		return CUDA_ERROR_DEINITIALIZED;
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

struct context *engine_context_checked(CUcontext handle)
{
	struct context *c = (struct context *)handle;
	return c && c->magic == CONTEXT_MAGIC && !c->destroyed ? c : NULL;
}

CUresult engine_context_current(struct context **context)
{
	struct cu_thread *t = engine_thread();
	CUresult rc = engine_init_check();
	if (rc)
		return rc;
	if (!t->stack_size || !t->stack[t->stack_size - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	*context = t->stack[t->stack_size - 1];
	return (*context)->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : (*context)->error;
}

/* Creates a context. Requires engine_lock. */
static struct context *context_create(struct device *device, unsigned flags)
{
	int index = 0;
	while (index < ENGINE_MAX_CONTEXTS && contexts[index])
		index++;
	if (index == ENGINE_MAX_CONTEXTS)
		return NULL;
	struct context *c = calloc(1, sizeof(*c));
	c->magic = CONTEXT_MAGIC;
	c->id = ++last_context_id;
	c->index = index;
	c->device = device;
	c->flags = flags;
	/*
	 * CUPTI reports these stream numbers on real devices: 7 for the default stream, 13 for the
	 * first other one.
	 */
	c->next_stream_id = 7;
	c->legacy = stream_create_in(c, 0, 0);
	c->legacy->legacy = true;
	c->next_stream_id = 13;
	c->limits[CU_LIMIT_STACK_SIZE] = 1024;
	c->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 7340032;
	c->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8388608;
	contexts[index] = c;
	return c;
}

/* Destroys a context. Keeps its struct, so that a later use of the handle is an error and not a
 * crash. Requires engine_lock. */
static void context_destroy(struct context *c)
{
	contexts[c->index] = NULL;
	c->destroyed = true;
	for (struct stream *s = c->streams; s; s = s->next) {
		s->destroyed = true;
		op_release(&s->tail);
		free(s->queue);
		s->queue = NULL;
	}
	memory_release_context(c);
}

struct context *engine_context_by_device(int ordinal)
{
	return engine_devices[ordinal].primary;
}

CUresult engine_context_wait(struct context *c)
{
	struct when moments[OP_MAX_DEPS];
	int count = 0;
	pthread_mutex_lock(&engine_lock);
	moments[count++] = (struct when){ .ns = c->orphans_ns };
	for (struct stream *s = c->streams; s && count < OP_MAX_DEPS; s = s->next)
		moments[count++] = s->tail;
	struct when all = op_join(moments, count);
	pthread_mutex_unlock(&engine_lock);
	op_wait(all, (c->flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC);
	return CUDA_SUCCESS;
}

/* ---- primary contexts ---- */

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (rc)
		return rc;
	pthread_mutex_lock(&engine_lock);
	struct device *d = &engine_devices[device];
	if (!d->primary) {
		d->primary = context_create(d, d->primary_flags);
		if (d->primary)
			d->primary->primary = true;
	}
	d->primary_users++;
	*context = (CUcontext)d->primary;
	pthread_mutex_unlock(&engine_lock);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult primary_drop(CUdevice device, bool all)
{
	CUresult rc = engine_device_check(device);
	if (rc)
		return rc;
	struct device *d = &engine_devices[device];
	/* cudaSetDevice() takes and drops a reference, but does not wait for the device */
	if (d->primary && (all || d->primary_users == 1))
		engine_context_wait(d->primary);
	pthread_mutex_lock(&engine_lock);
	if (all)
		d->primary_users = 0;
	else if (!d->primary_users)
		rc = CUDA_ERROR_INVALID_CONTEXT;
	else
		d->primary_users--;
	if (!d->primary_users && d->primary) {
		context_destroy(d->primary);
		d->primary = NULL;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	return primary_drop(device, false);
}

CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return primary_drop(device, true);
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
	CUresult rc = engine_device_check(device);
	if (rc)
		return rc;
	struct device *d = &engine_devices[device];
	d->primary_flags = flags;
	if (d->primary)
		d->primary->flags = flags;
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	CUresult rc = engine_device_check(device);
	if (rc)
		return rc;
	if (flags)
		*flags = engine_devices[device].primary_flags;
	if (active)
		*active = engine_devices[device].primary != NULL;
	return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CUresult sim_cuCtxPushCurrent_v2(CUcontext handle)
{
	struct cu_thread *t = engine_thread();
	struct context *c = engine_context_checked(handle);
	if (!c || t->stack_size == ENGINE_CTX_STACK)
		return CUDA_ERROR_INVALID_CONTEXT;
	t->stack[t->stack_size++] = c;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext *handle)
{
	struct cu_thread *t = engine_thread();
	if (!t->stack_size)
		return CUDA_ERROR_INVALID_CONTEXT;
	struct context *c = t->stack[--t->stack_size];
	if (handle)
		*handle = (CUcontext)c;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCurrent(CUcontext handle)
{
	struct cu_thread *t = engine_thread();
	struct context *c = engine_context_checked(handle);
	CUresult rc = engine_init_check();
	if (rc)
		return rc;
	if (handle && !c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (t->stack_size)
		t->stack_size--;
	if (c)
		t->stack[t->stack_size++] = c;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCurrent(CUcontext *handle)
{
	struct cu_thread *t = engine_thread();
	CUresult rc = engine_init_check();
	if (rc)
		return rc;
	*handle = t->stack_size ? (CUcontext)t->stack[t->stack_size - 1] : NULL;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (rc)
		return rc;
	pthread_mutex_lock(&engine_lock);
	struct context *c = context_create(&engine_devices[device], flags);
	pthread_mutex_unlock(&engine_lock);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*handle = (CUcontext)c;
	return sim_cuCtxPushCurrent_v2(*handle);
}

CUresult sim_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *affinity, int count,
			    unsigned flags, CUdevice device)
{
	(void)affinity, (void)count;
	return sim_cuCtxCreate_v2(handle, flags, device);
}

CUresult sim_cuCtxCreate_v4(CUcontext *handle, CUctxCreateParams *params, unsigned flags,
			    CUdevice device)
{
	(void)params;
	return sim_cuCtxCreate_v2(handle, flags, device);
}

CUresult sim_cuCtxDestroy_v2(CUcontext handle)
{
	struct cu_thread *t = engine_thread();
	struct context *c = engine_context_checked(handle);
	if (!c || c->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	engine_context_wait(c);
	pthread_mutex_lock(&engine_lock);
	context_destroy(c);
	pthread_mutex_unlock(&engine_lock);
	if (t->stack_size && t->stack[t->stack_size - 1] == c)
		t->stack_size--;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetDevice(CUdevice *device)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	if (!rc)
		*device = c->device->ordinal;
	return rc;
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
	struct context *c = engine_context_checked(handle);
	if (!handle)
		return sim_cuCtxGetDevice(device);
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = c->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetFlags(unsigned *flags)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	if (!rc)
		*flags = c->flags;
	return rc;
}

CUresult sim_cuCtxSetFlags(unsigned flags)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	if (!rc)
		c->flags = flags;
	return rc;
}

CUresult sim_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct context *c = engine_context_checked(handle);
	CUresult rc = handle ? c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT
			     : engine_context_current(&c);
	if (!rc)
		*id = c->id;
	return rc;
}

CUresult sim_cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
	if (handle && !engine_context_checked(handle))
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	if (!rc && least)
		*least = 0;
	if (!rc && greatest)
		*greatest = -5;
	return rc;
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	if (!rc && (unsigned)limit >= 16)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (!rc)
		c->limits[limit] = value;
	return rc;
}

CUresult sim_cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	if (!rc && (unsigned)limit >= 16)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (!rc)
		*value = c->limits[limit];
	return rc;
}

static CUresult context_synchronize(struct context *c)
{
	int64_t start = sim_now_ns();
	CUresult rc = c->error ?: capture_unsafe();
	if (rc)
		return rc;
	engine_context_wait(c);
	engine_sync_publish(SIM_SYNC_CONTEXT, 0, NULL, start, 0, c);
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSynchronize(void)
{
	struct context *c;
	return engine_context_current(&c) ?: context_synchronize(c);
}

CUresult sim_cuCtxSynchronize_v2(CUcontext handle)
{
	struct context *c = engine_context_checked(handle);
	return c	? context_synchronize(c)
	       : handle ? CUDA_ERROR_INVALID_CONTEXT
			: sim_cuCtxSynchronize();
}

/* Settings of a context that have no effect on the simulation. */
CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *config)
{
	*config = CU_FUNC_CACHE_PREFER_NONE;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
	(void)config;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	(void)config;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxResetPersistingL2Cache(void)
{
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	struct context *p = engine_context_checked(peer);
	if (rc)
		return rc;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!p || p->device == c->device)
		return CUDA_ERROR_INVALID_CONTEXT;
	uint64_t bit = 1ull << p->device->ordinal;
	if (c->peers & bit)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	c->peers |= bit;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext peer)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	struct context *p = engine_context_checked(peer);
	if (rc)
		return rc;
	if (!p)
		return CUDA_ERROR_INVALID_CONTEXT;
	uint64_t bit = 1ull << p->device->ordinal;
	if (!(c->peers & bit))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	c->peers &= ~bit;
	return CUDA_SUCCESS;
}

CUresult sim_cuProfilerStart(void)
{
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult sim_cuProfilerStop(void)
{
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
