/*
 * Virtual memory management: address ranges are reserved, physical memory is created, and physical
 * memory is mapped into ranges. Physical memory is a part of one sparse memory file for each
 * device, so that it keeps its bytes from one mapping to the next.
 */
#define _FILE_OFFSET_BITS 64
#include "test/sim/engine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRAIN	       (2ul << 20)
#define FILE_BYTES     (1ll << 44) /* sparse: only pages that were written use memory */
#define PHYSICAL_MAGIC 0x50485931u

struct physical {
	uint32_t magic;
	struct device *device;
	size_t bytes;
	off_t offset;
	int references; /* one for the handle and one for each mapping */
	CUmemAllocationProp properties;
};

struct reservation {
	struct range range;
};

struct mapping {
	/* an element of engine_allocations, so that copies and queries find it */
	struct allocation allocation;
	struct physical *physical;
};

static struct range *reservations;
static int files[ENGINE_MAX_DEVICES];
static off_t file_ends[ENGINE_MAX_DEVICES];

static struct physical *physical_checked(CUmemGenericAllocationHandle handle)
{
	struct physical *p = (struct physical *)(uintptr_t)handle;
	return p && p->magic == PHYSICAL_MAGIC ? p : NULL;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *grain, const CUmemAllocationProp *properties,
					   CUmemAllocationGranularity_flags option)
{
	(void)option;
	if (!grain || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	*grain = GRAIN;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment,
				 CUdeviceptr wanted, unsigned long long flags)
{
	(void)wanted;
	if (alignment < GRAIN)
		alignment = GRAIN;
	if (!address || !bytes || bytes % GRAIN || flags || (alignment & (alignment - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	char *p = mmap(NULL, bytes + alignment, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	char *aligned = (char *)(((uintptr_t)p + alignment - 1) & ~(alignment - 1));
	if (aligned > p)
		munmap(p, aligned - p);
	munmap(aligned + bytes, p + alignment - aligned);
	struct reservation *r = calloc(1, sizeof(*r));
	r->range.start = (uintptr_t)aligned;
	r->range.bytes = bytes;
	pthread_mutex_lock(&engine_lock);
	range_insert(&reservations, &r->range);
	pthread_mutex_unlock(&engine_lock);
	*address = (CUdeviceptr)aligned;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	pthread_mutex_lock(&engine_lock);
	struct range *r = range_find(reservations, address);
	bool right = r && r->start == address && r->bytes == bytes;
	struct range *inside = range_after(engine_allocations, address);
	right = right && !(inside && inside->start < address + bytes);
	if (right)
		range_remove(&reservations, r);
	pthread_mutex_unlock(&engine_lock);
	if (!right)
		return CUDA_ERROR_INVALID_VALUE;
	munmap((void *)address, bytes);
	free(r);
	return CUDA_SUCCESS;
}

/* Allocates a piece of the device's file. Requires engine_lock. */
static CUresult physical_place(struct physical *p)
{
	int ordinal = p->device->ordinal;
	if (!files[ordinal]) {
		int fd = memfd_create("profsim-device", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, FILE_BYTES))
			return CUDA_ERROR_OUT_OF_MEMORY;
		files[ordinal] = fd;
	}
	if (file_ends[ordinal] + (off_t)p->bytes > FILE_BYTES)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->offset = file_ends[ordinal];
	file_ends[ordinal] += p->bytes;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
			 const CUmemAllocationProp *properties, unsigned long long flags)
{
	if (!handle || !properties || !bytes || bytes % GRAIN || flags)
		return CUDA_ERROR_INVALID_VALUE;
	int ordinal = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE
			      ? properties->location.id
			      : 0;
	CUresult rc = engine_device_check(ordinal);
	if (rc)
		return rc;
	struct physical *p = calloc(1, sizeof(*p));
	*p = (struct physical){
		.magic = PHYSICAL_MAGIC, .bytes = bytes, .references = 1, .properties = *properties
	};
	p->device = &engine_devices[ordinal];
	pthread_mutex_lock(&engine_lock);
	if (p->device->used_bytes + bytes > (uint64_t)(engine_settings.memory_mb * 1048576))
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	else
		rc = physical_place(p);
	if (!rc)
		p->device->used_bytes += bytes;
	pthread_mutex_unlock(&engine_lock);
	if (rc)
		free(p);
	else
		*handle = (CUmemGenericAllocationHandle)(uintptr_t)p;
	return rc;
}

/* Releases a reference. Requires engine_lock. */
static void physical_drop(struct physical *p)
{
	if (--p->references)
		return;
	fallocate(files[p->device->ordinal], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, p->offset,
		  p->bytes);
	p->device->used_bytes -= p->bytes;
	p->magic = 0;
	free(p);
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct physical *p = physical_checked(handle);
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	physical_drop(p);
	pthread_mutex_unlock(&engine_lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct physical *p = physical_checked(handle);
	if (!p || flags || bytes % GRAIN || offset + bytes > p->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	struct range *r = range_find(reservations, address);
	struct range *inside = range_after(engine_allocations, address);
	bool right = r && address + bytes <= r->start + r->bytes &&
		     !(inside && inside->start < address + bytes);
	/*
	 * In CUDA, cuMemSetAccess grants access. Here the mapping is accessible at once, because
	 * the host must move the bytes.
	 */
	if (right && mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  files[p->device->ordinal], p->offset + (off_t)offset) == MAP_FAILED)
		right = false;
	if (right) {
		struct mapping *m = calloc(1, sizeof(*m));
		m->allocation.range.start = address;
		m->allocation.range.bytes = bytes;
		m->allocation.kind = SIM_MEMORY_DEVICE;
		m->allocation.device = p->device;
		m->allocation.mapped_vmm = true;
		m->physical = p;
		p->references++;
		range_insert(&engine_allocations, &m->allocation.range);
	}
	pthread_mutex_unlock(&engine_lock);
	return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	/* The range may contain several mappings; unmap each of them completely. */
	for (struct range *r = range_after(engine_allocations, address);
	     r && r->start < address + bytes; r = range_after(engine_allocations, address)) {
		struct mapping *m = (struct mapping *)r;
		if (!m->allocation.mapped_vmm || r->start < address ||
		    r->start + r->bytes > address + bytes)
			break;
		mmap((void *)r->start, r->bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		physical_drop(m->physical);
		memory_release(&m->allocation);
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *list,
			    size_t count)
{
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	pthread_mutex_unlock(&engine_lock);
	return a && a->mapped_vmm && list && count && bytes ? CUDA_SUCCESS
							    : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
			    CUdeviceptr address)
{
	(void)location;
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	pthread_mutex_unlock(&engine_lock);
	*flags = a ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	pthread_mutex_lock(&engine_lock);
	struct mapping *m = (struct mapping *)memory_find(address);
	bool right = m && m->allocation.mapped_vmm;
	if (right) {
		m->physical->references++;
		*handle = (CUmemGenericAllocationHandle)(uintptr_t)m->physical;
	}
	pthread_mutex_unlock(&engine_lock);
	return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
						    CUmemGenericAllocationHandle handle)
{
	struct physical *p = physical_checked(handle);
	if (!p || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	*properties = p->properties;
	return CUDA_SUCCESS;
}
