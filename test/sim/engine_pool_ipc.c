/*
 * Memory pools that are shared with other processes. The handle of a pool is a file that describes
 * it. As with cuIpcOpenMemHandle, imported memory has the right size, not the same bytes. Runs on
 * the application's threads.
 */
#include "test/sim/engine.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* the content of the file */
struct shared_pool {
	uint64_t magic, id;
	int pid, device;
};
#define SHARED_POOL_MAGIC 0x70736d706f6f6c31ull

/* the content of a CUmemPoolPtrExportData */
struct shared_pointer {
	uint64_t magic, pool, bytes;
	int pid;
};
#define SHARED_POINTER_MAGIC 0x70736d70747231ull
_Static_assert(sizeof(struct shared_pointer) <= sizeof(CUmemPoolPtrExportData), "export data");

CUresult sim_cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool,
					      CUmemAllocationHandleType type,
					      unsigned long long flags)
{
	static uint64_t last_id;
	struct memory_pool *p = memory_pool_checked(pool);
	if (!handle || !p || flags || p->imported ||
	    type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !(p->handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return CUDA_ERROR_INVALID_VALUE;
	int fd = memfd_create("profsim-pool", MFD_CLOEXEC);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	pthread_mutex_lock(&engine_lock);
	p->shared_id = p->shared_id ?: ++last_id;
	pthread_mutex_unlock(&engine_lock);
	struct shared_pool content = { SHARED_POOL_MAGIC, p->shared_id, (int)getpid(),
				       p->device->ordinal };
	if (pwrite(fd, &content, sizeof(content), 0) != sizeof(content)) {
		close(fd);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	*(int *)handle = fd;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle,
						CUmemAllocationHandleType type,
						unsigned long long flags)
{
	struct shared_pool content;
	int fd = (int)(intptr_t)handle;
	if (!pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    pread(fd, &content, sizeof(content), 0) != sizeof(content) ||
	    content.magic != SHARED_POOL_MAGIC || engine_device_check(content.device))
		return CUDA_ERROR_INVALID_VALUE;
	struct memory_pool *p = memory_pool_create(&engine_devices[content.device]);
	p->imported = true;
	p->shared_id = content.id;
	p->exporter = content.pid;
	*pool = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr address)
{
	struct shared_pointer content = { .magic = SHARED_POINTER_MAGIC, .pid = (int)getpid() };
	pthread_mutex_lock(&engine_lock);
	struct allocation *a = memory_find((void *)address);
	bool right = data && a && a->pool && a->pool->shared_id && !a->pool->imported;
	if (right) {
		content.pool = a->pool->shared_id;
		content.bytes = a->range.bytes;
	}
	pthread_mutex_unlock(&engine_lock);
	if (!right)
		return CUDA_ERROR_INVALID_VALUE;
	memset(data, 0, sizeof(*data));
	memcpy(data, &content, sizeof(content));
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool pool,
				    CUmemPoolPtrExportData *data)
{
	struct memory_pool *p = memory_pool_checked(pool);
	struct shared_pointer content;
	struct allocation *a;
	if (!address || !p || !data)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&content, data, sizeof(content));
	if (content.magic != SHARED_POINTER_MAGIC || !p->imported || content.pool != p->shared_id ||
	    content.pid != p->exporter)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	/* the exporter's memory, and not counted again */
	CUresult rc = memory_allocate(p->device, SIM_MEMORY_DEVICE, content.bytes, &a);
	if (!rc) {
		a->async = true;
		*address = a->range.start;
	}
	pthread_mutex_unlock(&engine_lock);
	return rc;
}
