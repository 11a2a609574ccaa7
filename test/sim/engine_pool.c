/*
 * Stream-ordered allocation and memory pools. Memory is available at once, and is released when the
 * stream has passed the position of the free. The pool's statistics change during the call. Also
 * hints for managed memory, and memory of other processes.
 */
#include "test/sim/engine.h"

#include <unistd.h>

#define POOL_MAGIC 0x504f4f31u

struct memory_pool *memory_pool_checked(CUmemoryPool handle)
{
	struct memory_pool *p = (struct memory_pool *)handle;
	return p && p->magic == POOL_MAGIC ? p : NULL;
}

struct memory_pool *memory_pool_create(struct device *device)
{
	struct memory_pool *p = calloc(1, sizeof(*p));
	p->magic = POOL_MAGIC;
	p->device = device;
	return p;
}

/* Returns the device's default pool. Requires engine_lock. */
static struct memory_pool *pool_default(struct device *d)
{
	if (!d->default_pool)
		d->default_pool = memory_pool_create(d);
	return d->default_pool;
}

static CUresult device_of(int ordinal, struct device **device)
{
	CUresult rc = engine_device_check(ordinal);
	if (!rc)
		*device = &engine_devices[ordinal];
	return rc;
}

static CUresult get_pool(CUmemoryPool *pool, CUdevice device, bool is_default)
{
	struct device *d;
	CUresult rc = device_of(device, &d);
	if (rc)
		return rc;
	pthread_mutex_lock(&engine_lock);
	*pool = (CUmemoryPool)(is_default || !d->pool ? pool_default(d) : d->pool);
	pthread_mutex_unlock(&engine_lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	return get_pool(pool, device, true);
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	return get_pool(pool, device, false);
}

CUresult sim_cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	struct device *d;
	struct memory_pool *p = memory_pool_checked(pool);
	CUresult rc = device_of(device, &d);
	if (!rc && (!p || p->imported))
		rc = CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		d->pool = p;
	return rc;
}

CUresult sim_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
				    CUmemAllocationType type)
{
	(void)type;
	return sim_cuDeviceGetDefaultMemPool(pool, location->id);
}

CUresult sim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	(void)type;
	return sim_cuDeviceGetMemPool(pool, location->id);
}

CUresult sim_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	(void)type;
	return sim_cuDeviceSetMemPool(location->id, pool);
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	struct device *d;
	if (!pool || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult rc = device_of(properties->location.id, &d);
	if (rc)
		return rc;
	struct memory_pool *p = memory_pool_create(d);
	p->handle_types = (unsigned)properties->handleTypes;
	*pool = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolDestroy(CUmemoryPool pool)
{
	struct memory_pool *p = memory_pool_checked(pool);
	if (!p || p == p->device->default_pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->device->pool == p)
		p->device->pool = NULL;
	/* the struct stays, because allocations may outlive the pool */
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	struct memory_pool *p = memory_pool_checked(pool);
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->reserved > p->used)
		p->reserved = p->used > keep ? p->used : keep < p->reserved ? keep : p->reserved;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	struct memory_pool *p = memory_pool_checked(pool);
	if (!p || !value)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		p->threshold = *(uint64_t *)value;
	else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
		p->reserved_high = p->reserved;
	else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		p->used_high = p->used;
	else if (attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
		p->reuse[attribute & 3] = *(int *)value;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	struct memory_pool *p = memory_pool_checked(pool);
	if (!p || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(uint64_t *)value = p->threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*(uint64_t *)value = p->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(uint64_t *)value = p->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(uint64_t *)value = p->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(uint64_t *)value = p->used_high;
		return CUDA_SUCCESS;
	default:
		*(int *)value = p->reuse[attribute & 3];
		return CUDA_SUCCESS;
	}
}

CUresult sim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *list, size_t count)
{
	(void)list, (void)count;
	return memory_pool_checked(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				CUmemLocation *location)
{
	(void)location;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return memory_pool_checked(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- allocation ---- */

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
				     CUstream handle)
{
	struct stream *s;
	struct allocation *a, copy;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = address ? stream_find(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	struct memory_pool *p = memory_pool_checked(pool);
	if (!rc && (!p || p->imported))
		rc = CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		rc = memory_allocate(p->device, SIM_MEMORY_DEVICE, bytes, &a);
	if (!rc) {
		a->pool = p;
		a->async = true;
		a->context = s->context;
		p->used += bytes;
		p->used_high = p->used > p->used_high ? p->used : p->used_high;
		p->reserved = p->used > p->reserved ? p->used : p->reserved;
		p->reserved_high = p->reserved > p->reserved_high ? p->reserved : p->reserved_high;
		*address = a->range.start;
		copy = *a;
		if (capture_active(s))
			rc = capture_memory(s, *address, bytes, false);
	}
	pthread_mutex_unlock(&engine_lock);
	if (!rc)
		memory_publish(1, &copy, true, s->id);
	return rc;
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream handle)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(handle, &s);
	struct device *d = rc ? NULL : s->context->device;
	struct memory_pool *p = rc ? NULL : d->pool ?: pool_default(d);
	pthread_mutex_unlock(&engine_lock);
	return rc ?: sim_cuMemAllocFromPoolAsync(address, bytes, (CUmemoryPool)p, handle);
}

static void free_run(void *arg)
{
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find(arg);
	if (a && a->range.start == (uintptr_t)arg)
		memory_release(a);
	pthread_mutex_unlock(&engine_lock);
}

CUresult sim_cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
	struct stream *s;
	struct allocation copy;
	if (!address)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	CUresult rc = stream_find(handle, &s);
	if (!rc &&
	    (!a || a->range.start != address || a->kind != SIM_MEMORY_DEVICE || a->mapped_vmm))
		rc = CUDA_ERROR_INVALID_VALUE;
	bool capturing = !rc && capture_active(s);
	if (capturing)
		rc = capture_memory(s, address, 0, true);
	if (!rc) {
		copy = *a;
		if (a->pool && !capturing) {
			a->pool->used -= a->range.bytes;
			a->pool->reserved = a->pool->used > a->pool->threshold ? a->pool->used
									       : a->pool->reserved;
			a->pool = NULL;
		}
	}
	pthread_mutex_unlock(&engine_lock);
	if (rc || capturing)
		return rc;
	memory_publish(2, &copy, true, s->id);
	struct op_request request = { .silent = true, .action = free_run, .arg = (void *)address };
	return stream_run(handle, &request, 0, NULL);
}

/* ---- hints for managed memory ---- */

static CUresult range_known(CUdeviceptr address, size_t bytes)
{
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	pthread_mutex_unlock(&engine_lock);
	return a && bytes && address + bytes <= a->range.start + a->range.bytes
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
			    CUmemLocation location)
{
	(void)advice, (void)location;
	return range_known(address, bytes);
}

CUresult sim_cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
	(void)advice, (void)device;
	return range_known(address, bytes);
}

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
				   unsigned flags, CUstream stream)
{
	(void)location;
	CUresult rc = flags ? CUDA_ERROR_INVALID_VALUE : range_known(address, bytes);
	struct op_request request = { .silent = true };
	request.duration_ns = engine_ns((double)bytes / (engine_settings.h2d_gbps * 1e3));
	return rc ?: stream_run(stream, &request, engine_settings.launch_us, NULL);
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
	CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
	return sim_cuMemPrefetchAsync_v2(address, bytes, location, 0, stream);
}

CUresult sim_cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *bytes, size_t count,
				     CUmemLocation *locations, size_t *indices,
				     size_t location_count, unsigned long long flags,
				     CUstream stream)
{
	CUresult rc = flags || !locations || !location_count ? CUDA_ERROR_INVALID_VALUE
							     : CUDA_SUCCESS;
	(void)indices;
	for (size_t i = 0; i < count && !rc; i++)
		rc = sim_cuMemPrefetchAsync_v2(addresses[i], bytes[i], locations[0], 0, stream);
	return rc;
}

CUresult sim_cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *bytes, size_t count,
				    unsigned long long flags, CUstream stream)
{
	CUresult rc = flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	(void)stream;
	for (size_t i = 0; i < count && !rc; i++)
		rc = range_known(addresses[i], bytes[i]);
	return rc;
}

CUresult sim_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addresses, size_t *bytes, size_t count,
					       CUmemLocation *locations, size_t *indices,
					       size_t location_count, unsigned long long flags,
					       CUstream stream)
{
	return sim_cuMemPrefetchBatchAsync(addresses, bytes, count, locations, indices,
					   location_count, flags, stream);
}

CUresult sim_cuMemRangeGetAttribute(void *data, size_t data_bytes, CUmem_range_attribute attribute,
				    CUdeviceptr address, size_t bytes)
{
	CUresult rc = data ? range_known(address, bytes) : CUDA_ERROR_INVALID_VALUE;
	(void)attribute;
	if (!rc)
		memset(data, 0, data_bytes);
	return rc;
}

CUresult sim_cuMemRangeGetAttributes(void **data, size_t *data_bytes,
				     CUmem_range_attribute *attributes, size_t count,
				     CUdeviceptr address, size_t bytes)
{
	CUresult rc = CUDA_SUCCESS;
	for (size_t i = 0; i < count && !rc; i++)
		rc = sim_cuMemRangeGetAttribute(data[i], data_bytes[i], attributes[i], address,
						bytes);
	return rc;
}

/* ---- other processes ---- */

struct ipc_handle {
	uint64_t magic, address, bytes;
	int pid;
};
#define IPC_MAGIC 0x7073696d69706331ull

CUresult sim_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	bool right = a && a->kind == SIM_MEMORY_DEVICE && !a->pool && !a->mapped_vmm;
	struct ipc_handle h = { .magic = IPC_MAGIC, .pid = (int)getpid() };
	if (right) {
		h.address = a->range.start;
		h.bytes = a->range.bytes;
	}
	pthread_mutex_unlock(&engine_lock);
	if (!right)
		return CUDA_ERROR_INVALID_VALUE;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &h, sizeof(h));
	return CUDA_SUCCESS;
}

/*
 * Maps memory of the right size, but with other bytes than in the process that exported the handle.
 * A process may not open its own handle.
 */
CUresult sim_cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
	struct context *c;
	struct allocation *a;
	struct ipc_handle h;
	(void)flags;
	memcpy(&h, &handle, sizeof(h));
	if (h.magic != IPC_MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	if (h.pid == (int)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = engine_context_current(&c)
			      ?: memory_allocate(c->device, SIM_MEMORY_DEVICE, h.bytes, &a);
	if (!rc) {
		a->ipc = true;
		*address = a->range.start;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuIpcCloseMemHandle(CUdeviceptr address)
{
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	bool right = a && a->ipc;
	if (right)
		memory_release(a);
	pthread_mutex_unlock(&engine_lock);
	return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	struct event *e = event_checked(event);
	if (!e || !(e->flags & CU_EVENT_INTERPROCESS))
		return CUDA_ERROR_INVALID_HANDLE;
	struct ipc_handle h = { .magic = IPC_MAGIC, .pid = (int)getpid() };
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &h, sizeof(h));
	return CUDA_SUCCESS;
}

CUresult sim_cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	struct ipc_handle h;
	memcpy(&h, &handle, sizeof(h));
	if (h.magic != IPC_MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	return h.pid == (int)getpid() ? CUDA_ERROR_INVALID_CONTEXT
				      : sim_cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
}
