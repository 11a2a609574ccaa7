/*
 * Allocations of every kind, and pointer attributes. Device memory is an anonymous mapping without
 * reserve: until something is copied or set, it reads as zeros and uses no memory. Runs on the
 * application's threads.
 */
#include "test/sim/engine.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct range *engine_allocations;
static uint64_t last_buffer_id;

#define PAGE_BYTES  4096ul
#define PITCH_BYTES 512ul
#define REAL_GRAIN  512ul

struct allocation *memory_find(const void *address)
{
	return (struct allocation *)range_find(engine_allocations, (uintptr_t)address);
}

enum sim_memory_kind memory_kind_of(const void *address, struct allocation **allocation)
{
	struct allocation *a = memory_find(address);
	if (allocation)
		*allocation = a;
	return a ? a->kind : SIM_MEMORY_PAGEABLE;
}

static bool counts_as_device(const struct allocation *a)
{
	return a->kind == SIM_MEMORY_DEVICE || a->kind == SIM_MEMORY_MANAGED;
}

static uint64_t device_limit(void)
{
	return (uint64_t)(engine_settings.memory_mb * 1048576);
}

static CUresult memory_map(struct device *device, enum sim_memory_kind kind, size_t bytes,
			   int flags, struct allocation **out)
{
	size_t rounded = (bytes + REAL_GRAIN - 1) & ~(REAL_GRAIN - 1);
	size_t mapped = (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	if (!bytes || mapped < bytes)
		return CUDA_ERROR_INVALID_VALUE;
	bool device_memory = kind == SIM_MEMORY_DEVICE;
	if (device_memory && device->used_bytes + rounded > device_limit())
		return CUDA_ERROR_OUT_OF_MEMORY;
	void *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct allocation *a = calloc(1, sizeof(*a));
	a->range.start = (uintptr_t)p;
	a->range.bytes = bytes;
	a->mapped_bytes = mapped;
	a->kind = kind;
	a->device = device;
	a->id = ++last_buffer_id;
	engine_context_current(&a->context);
	range_insert(&engine_allocations, &a->range);
	if (counts_as_device(a))
		device->used_bytes += rounded;
	*out = a;
	return CUDA_SUCCESS;
}

CUresult memory_allocate(struct device *device, enum sim_memory_kind kind, size_t bytes,
			 struct allocation **out)
{
	return memory_map(device, kind, bytes, 0, out);
}

CUresult memory_allocate_low(struct device *device, size_t bytes, struct allocation **out)
{
	return memory_map(device, SIM_MEMORY_DEVICE, bytes, MAP_32BIT, out);
}

/* Releases an allocation. Requires engine_lock. */
CUresult memory_release(struct allocation *a)
{
	range_remove(&engine_allocations, &a->range);
	extent_forget(a->range.start, a->range.bytes);
	if (counts_as_device(a) && !a->mapped_vmm)
		a->device->used_bytes -= (a->range.bytes + REAL_GRAIN - 1) & ~(REAL_GRAIN - 1);
	if (a->mapped_bytes)
		munmap((void *)a->range.start, a->mapped_bytes);
	free(a);
	return CUDA_SUCCESS;
}

/*
 * Frees the memory of a context that is destroyed. Pinned host memory stays usable to the host.
 */
void memory_release_context(struct context *context)
{
	struct range *r = engine_allocations ? range_after(engine_allocations, 0) : NULL;
	while (r) {
		struct allocation *a = (struct allocation *)r;
		uintptr_t end = r->start + r->bytes;
		if (a->context == context && a->kind != SIM_MEMORY_PINNED && !a->mapped_vmm)
			memory_release(a);
		r = range_after(engine_allocations, end);
	}
}

void memory_publish(int operation, struct allocation *a, bool async, uint32_t stream)
{
	if (!(engine_flags & ENGINE_SINK))
		return;
	struct sim_op op = { .kind = SIM_OP_MEMORY, .resolved = true };
	op.start_ns = op.end_ns = sim_now_ns();
	op.device = a->device ? a->device->ordinal : 0;
	op.context = a->context ? a->context->id : 0;
	op.stream = stream;
	op.correlation = engine_correlation(engine_thread());
	op.bytes = a->range.bytes;
	op.address = a->range.start;
	op.u.memory.operation = operation;
	op.u.memory.memory = a->kind;
	op.u.memory.async = async;
	engine_publish(&op);
}

static CUresult allocate_now(enum sim_memory_kind kind, size_t bytes, unsigned flags,
			     void **address)
{
	struct context *c;
	struct allocation *a, copy;
	int64_t end =
		sim_now_ns() + engine_ns(kind == SIM_MEMORY_PINNED ? 0 : engine_settings.alloc_us);
	CUresult rc = capture_unsafe();
	if (rc)
		return rc;
	pthread_mutex_lock(&engine_lock);
	rc = engine_context_current(&c);
	if (!rc)
		rc = memory_allocate(c->device, kind, bytes, &a);
	if (!rc) {
		a->flags = flags;
		*address = (void *)a->range.start;
		copy = *a;
	}
	pthread_mutex_unlock(&engine_lock);
	sim_wait_until(end);
	if (!rc)
		memory_publish(1, &copy, false, 0);
	return rc;
}

/*
 * Frees memory. Waits for the device first, as the real driver does for all memory except
 * stream-ordered memory.
 */
static CUresult free_now(void *address, enum sim_memory_kind kind)
{
	struct context *c;
	struct allocation copy;
	if (!address)
		return CUDA_SUCCESS;
	CUresult rc = capture_unsafe() ?: engine_context_current(&c);
	if (rc)
		return rc;
	engine_context_wait(c);
	int64_t end =
		sim_now_ns() + engine_ns(kind == SIM_MEMORY_PINNED ? 0 : engine_settings.alloc_us);
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find(address);
	bool right = a && a->range.start == (uintptr_t)address && !a->registered &&
		     !a->mapped_vmm &&
		     (a->kind == SIM_MEMORY_PINNED) == (kind == SIM_MEMORY_PINNED);
	if (right) {
		copy = *a;
		memory_release(a);
	}
	pthread_mutex_unlock(&engine_lock);
	if (!right)
		return CUDA_ERROR_INVALID_VALUE;
	sim_wait_until(end);
	memory_publish(2, &copy, false, 0);
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	return address ? allocate_now(SIM_MEMORY_DEVICE, bytes, 0, (void **)address)
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
				unsigned element)
{
	(void)element;
	*pitch = (width + PITCH_BYTES - 1) & ~(PITCH_BYTES - 1);
	return sim_cuMemAlloc_v2(address, *pitch * height);
}

CUresult sim_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
	return allocate_now(SIM_MEMORY_MANAGED, bytes, flags, (void **)address);
}

CUresult sim_cuMemFree_v2(CUdeviceptr address)
{
	return free_now((void *)address, SIM_MEMORY_DEVICE);
}

CUresult sim_cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
	return address ? allocate_now(SIM_MEMORY_PINNED, bytes, flags, address)
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemAllocHost_v2(void **address, size_t bytes)
{
	return sim_cuMemHostAlloc(address, bytes, 0);
}

CUresult sim_cuMemFreeHost(void *address)
{
	return free_now(address, SIM_MEMORY_PINNED);
}

CUresult sim_cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	if (rc)
		return rc;
	if (!address || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	struct range *next = range_after(engine_allocations, (uintptr_t)address);
	if (next && next->start < (uintptr_t)address + bytes) {
		rc = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	} else {
		struct allocation *a = calloc(1, sizeof(*a));
		a->range.start = (uintptr_t)address;
		a->range.bytes = bytes;
		a->kind = SIM_MEMORY_PINNED;
		a->device = c->device;
		a->context = c;
		a->id = ++last_buffer_id;
		a->registered = true;
		a->flags = flags;
		range_insert(&engine_allocations, &a->range);
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuMemHostUnregister(void *address)
{
	struct context *c;
	CUresult rc = engine_context_current(&c);
	if (rc)
		return rc;
	engine_context_wait(c);
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find(address);
	if (a && a->registered && a->range.start == (uintptr_t)address)
		memory_release(a);
	else
		rc = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	enum sim_memory_kind kind = memory_kind_of(host, NULL);
	pthread_mutex_unlock(&engine_lock);
	*address = (CUdeviceptr)host;
	return kind == SIM_MEMORY_PINNED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemHostGetFlags(unsigned *flags, void *host)
{
	struct allocation *a;
	pthread_mutex_lock(&engine_lock);
	enum sim_memory_kind kind = memory_kind_of(host, &a);
	if (kind == SIM_MEMORY_PINNED)
		*flags = a->flags;
	pthread_mutex_unlock(&engine_lock);
	return kind == SIM_MEMORY_PINNED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	struct context *c;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = engine_context_current(&c);
	if (!rc) {
		uint64_t used = c->device->used_bytes, limit = device_limit();
		if (free_bytes)
			*free_bytes = used < limit ? limit - used : 0;
		if (total)
			*total = limit;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	if (a && base)
		*base = a->range.start;
	if (a && bytes)
		*bytes = a->range.bytes;
	pthread_mutex_unlock(&engine_lock);
	return a ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* ---- pointers ---- */

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address,
				  struct allocation *a)
{
	bool host = a && a->kind == SIM_MEMORY_PINNED;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = a ? (CUcontext)a->context : NULL;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = !a ? 0 : host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = a ? address : 0;
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(void **)data = host || (a && a->kind == SIM_MEMORY_MANAGED) ? (void *)address
									      : NULL;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = a ? a->id : 0;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)data = a && a->kind == SIM_MEMORY_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = a && a->device ? a->device->ordinal : -2;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = a ? a->range.start : 0;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = a ? a->range.bytes : 0;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned *)data = a != NULL;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = a ? (CUmemoryPool)a->pool : NULL;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned *)data = a && a->kind == SIM_MEMORY_DEVICE && !a->pool && !a->mapped_vmm;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(unsigned *)data = 0;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	CUresult rc = a ? pointer_attribute(data, attribute, address, a) : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

/* Unlike cuPointerGetAttribute, returns zeros for a pointer that CUDA does not know. */
CUresult sim_cuPointerGetAttributes(unsigned count, CUpointer_attribute *wanted, void **data,
				    CUdeviceptr address)
{
	CUresult rc = CUDA_SUCCESS;
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	for (unsigned i = 0; i < count && !rc; i++)
		rc = pointer_attribute(data[i], wanted[i], address, a);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
				   CUdeviceptr address)
{
	(void)value, (void)attribute;
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	pthread_mutex_unlock(&engine_lock);
	return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
