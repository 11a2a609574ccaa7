/*
 * The first versions of calls, from the time when device pointers had 32 bits. They work because
 * memory from cuMemAlloc (without _v2) lies below 2 GiB. Also launches whose shape is set
 * beforehand, and green contexts. Runs on the application's threads.
 */
#include "test/sim/engine.h"

#define RENAMED(old, new, declared, values) \
	CUresult sim_##old declared         \
	{                                   \
		return sim_##new values;    \
	}

#define D1 CUdeviceptr_v1
#define ST CUstream

RENAMED(cuCtxCreate, cuCtxCreate_v2, (CUcontext * c, unsigned f, CUdevice d), (c, f, d))
RENAMED(cuCtxDestroy, cuCtxDestroy_v2, (CUcontext c), (c))
RENAMED(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext c), (c))
RENAMED(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * c), (c))
RENAMED(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice d), (d))
RENAMED(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, (CUdevice d), (d))
RENAMED(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, (CUdevice d, unsigned f), (d, f))
RENAMED(cuStreamDestroy, cuStreamDestroy_v2, (CUstream s), (s))
RENAMED(cuEventDestroy, cuEventDestroy_v2, (CUevent e), (e))
RENAMED(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream s),
	(s, CU_STREAM_CAPTURE_MODE_GLOBAL))
RENAMED(cuGraphInstantiate, cuGraphInstantiate_v2,
	(CUgraphExec * e, CUgraph g, CUgraphNode *n, char *l, size_t b), (e, g, n, l, b))
RENAMED(cuStreamWriteValue32, cuStreamWriteValue32_v2,
	(CUstream s, CUdeviceptr a, cuuint32_t v, unsigned f), (s, a, v, f))
RENAMED(cuStreamWriteValue64, cuStreamWriteValue64_v2,
	(CUstream s, CUdeviceptr a, cuuint64_t v, unsigned f), (s, a, v, f))
RENAMED(cuStreamWaitValue32, cuStreamWaitValue32_v2,
	(CUstream s, CUdeviceptr a, cuuint32_t v, unsigned f), (s, a, v, f))
RENAMED(cuStreamWaitValue64, cuStreamWaitValue64_v2,
	(CUstream s, CUdeviceptr a, cuuint64_t v, unsigned f), (s, a, v, f))
RENAMED(cuStreamBatchMemOp, cuStreamBatchMemOp_v2,
	(CUstream s, unsigned n, CUstreamBatchMemOpParams *p, unsigned f), (s, n, p, f))
RENAMED(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, (CUdeviceptr * a, CUipcMemHandle h, unsigned f),
	(a, h, f))
RENAMED(cuMemHostRegister, cuMemHostRegister_v2, (void *p, size_t n, unsigned f), (p, n, f))

/* ---- memory ---- */

CUresult sim_cuMemAlloc(D1 *address, unsigned bytes)
{
	struct context *c;
	struct allocation *a;
	CUresult rc = address ? capture_unsafe() : CUDA_ERROR_INVALID_VALUE;
	if (rc)
		return rc;
	pthread_mutex_lock(&engine_lock);
	rc = engine_context_current(&c);
	if (!rc)
		rc = memory_allocate_low(c->device, bytes, &a);
	if (!rc)
		*address = (D1)a->range.start;
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuMemAllocPitch(D1 *address, unsigned *pitch, unsigned width, unsigned height,
			     unsigned element)
{
	(void)element;
	*pitch = (width + 511) & ~511u;
	return sim_cuMemAlloc(address, *pitch * height);
}

RENAMED(cuMemFree, cuMemFree_v2, (D1 a), (a))
RENAMED(cuMemAllocHost, cuMemAllocHost_v2, (void **p, unsigned n), (p, n))

CUresult sim_cuMemGetInfo(unsigned *free_bytes, unsigned *total)
{
	size_t f, t;
	CUresult rc = sim_cuMemGetInfo_v2(&f, &t);
	*free_bytes = rc ? 0 : f > UINT32_MAX ? UINT32_MAX : (unsigned)f;
	*total = rc ? 0 : t > UINT32_MAX ? UINT32_MAX : (unsigned)t;
	return rc;
}

CUresult sim_cuDeviceTotalMem(unsigned *bytes, CUdevice device)
{
	size_t n;
	CUresult rc = sim_cuDeviceTotalMem_v2(&n, device);
	*bytes = rc ? 0 : n > UINT32_MAX ? UINT32_MAX : (unsigned)n;
	return rc;
}

CUresult sim_cuMemGetAddressRange(D1 *base, unsigned *bytes, D1 address)
{
	CUdeviceptr b;
	size_t n;
	CUresult rc = sim_cuMemGetAddressRange_v2(&b, &n, address);
	if (!rc && base)
		*base = (D1)b;
	if (!rc && bytes)
		*bytes = (unsigned)n;
	return rc;
}

CUresult sim_cuMemHostGetDevicePointer(D1 *address, void *host, unsigned flags)
{
	(void)address, (void)host, (void)flags;
	/* host memory lies above 4 GiB, so a 32-bit pointer cannot address it */
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuModuleGetGlobal(D1 *address, unsigned *bytes, CUmodule module, const char *name)
{
	(void)address, (void)bytes, (void)module, (void)name;
	return CUDA_ERROR_INVALID_VALUE; /* variables lie above 4 GiB, too */
}

/* ---- copies and memsets ---- */

RENAMED(cuMemcpyHtoD, cuMemcpyHtoD_v2, (D1 to, const void *from, unsigned n), (to, from, n))
RENAMED(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (D1 to, const void *from, unsigned n, ST s),
	(to, from, n, s))
RENAMED(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *to, D1 from, unsigned n), (to, from, n))
RENAMED(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, D1 from, unsigned n, ST s),
	(to, from, n, s))
RENAMED(cuMemcpyDtoD, cuMemcpyDtoD_v2, (D1 to, D1 from, unsigned n), (to, from, n))
RENAMED(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (D1 to, D1 from, unsigned n, ST s),
	(to, from, n, s))
RENAMED(cuMemcpyHtoA, cuMemcpyHtoA_v2, (CUarray to, unsigned x, const void *from, unsigned n),
	(to, x, from, n))
RENAMED(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2,
	(CUarray to, unsigned x, const void *from, unsigned n, ST s), (to, x, from, n, s))
RENAMED(cuMemcpyAtoH, cuMemcpyAtoH_v2, (void *to, CUarray from, unsigned x, unsigned n),
	(to, from, x, n))
RENAMED(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2,
	(void *to, CUarray from, unsigned x, unsigned n, ST s), (to, from, x, n, s))
RENAMED(cuMemcpyAtoD, cuMemcpyAtoD_v2, (D1 to, CUarray from, unsigned x, unsigned n),
	(to, from, x, n))
RENAMED(cuMemcpyDtoA, cuMemcpyDtoA_v2, (CUarray to, unsigned x, D1 from, unsigned n),
	(to, x, from, n))
RENAMED(cuMemcpyAtoA, cuMemcpyAtoA_v2,
	(CUarray to, unsigned x, CUarray from, unsigned y, unsigned n), (to, x, from, y, n))
RENAMED(cuMemsetD8, cuMemsetD8_v2, (D1 to, unsigned char v, unsigned n), (to, v, n))
RENAMED(cuMemsetD16, cuMemsetD16_v2, (D1 to, unsigned short v, unsigned n), (to, v, n))
RENAMED(cuMemsetD32, cuMemsetD32_v2, (D1 to, unsigned v, unsigned n), (to, v, n))
RENAMED(cuMemsetD2D8, cuMemsetD2D8_v2, (D1 to, unsigned p, unsigned char v, unsigned w, unsigned h),
	(to, p, v, w, h))
RENAMED(cuMemsetD2D16, cuMemsetD2D16_v2,
	(D1 to, unsigned p, unsigned short v, unsigned w, unsigned h), (to, p, v, w, h))
RENAMED(cuMemsetD2D32, cuMemsetD2D32_v2, (D1 to, unsigned p, unsigned v, unsigned w, unsigned h),
	(to, p, v, w, h))

static CUDA_MEMCPY2D widen_2d(const CUDA_MEMCPY2D_v1 *c)
{
	return (CUDA_MEMCPY2D){ SIM_SIDE_2D(src, c), SIM_SIDE_2D(dst, c),
				.WidthInBytes = c->WidthInBytes, .Height = c->Height };
}

static CUDA_MEMCPY3D widen_3d(const CUDA_MEMCPY3D_v1 *c)
{
	return (CUDA_MEMCPY3D){ SIM_SIDE_3D(src, c), SIM_SIDE_3D(dst, c), SIM_EXTENT_3D(c) };
}

CUresult sim_cuMemcpy2D(const CUDA_MEMCPY2D_v1 *copy)
{
	CUDA_MEMCPY2D c = widen_2d(copy);
	return sim_cuMemcpy2D_v2(&c);
}

CUresult sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1 *copy)
{
	return sim_cuMemcpy2D(copy);
}

CUresult sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *copy, CUstream stream)
{
	CUDA_MEMCPY2D c = widen_2d(copy);
	return sim_cuMemcpy2DAsync_v2(&c, stream);
}

CUresult sim_cuMemcpy3D(const CUDA_MEMCPY3D_v1 *copy)
{
	CUDA_MEMCPY3D c = widen_3d(copy);
	return sim_cuMemcpy3D_v2(&c);
}

CUresult sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *copy, CUstream stream)
{
	CUDA_MEMCPY3D c = widen_3d(copy);
	return sim_cuMemcpy3DAsync_v2(&c, stream);
}

CUresult sim_cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
	CUDA_ARRAY_DESCRIPTOR wide = { d->Width, d->Height, d->Format, d->NumChannels };
	return sim_cuArrayCreate_v2(array, &wide);
}

CUresult sim_cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
	CUDA_ARRAY3D_DESCRIPTOR wide = { d->Width,  d->Height,	    d->Depth,
					 d->Format, d->NumChannels, d->Flags };
	return sim_cuArray3DCreate_v2(array, &wide);
}

/* ---- launches whose shape is set beforehand ---- */

CUresult sim_cuFuncSetBlockShape(CUfunction f, int x, int y, int z)
{
	struct kernel *k = kernel_checked(f);
	if (!k || x < 1 || y < 1 || z < 1)
		return k ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	k->block[0] = (unsigned)x;
	k->block[1] = (unsigned)y;
	k->block[2] = (unsigned)z;
	return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetSharedSize(CUfunction f, unsigned bytes)
{
	struct kernel *k = kernel_checked(f);
	if (k)
		k->shared = bytes;
	return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
	struct kernel *k = kernel_checked(f);
	if (!k || width < 1 || height < 1)
		return k ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	return sim_cuLaunchKernel(f, (unsigned)width, (unsigned)height, 1, k->block[0], k->block[1],
				  k->block[2], k->shared, stream, NULL, NULL);
}

CUresult sim_cuLaunchGrid(CUfunction f, int width, int height)
{
	return sim_cuLaunchGridAsync(f, width, height, NULL);
}

CUresult sim_cuLaunch(CUfunction f)
{
	return sim_cuLaunchGridAsync(f, 1, 1, NULL);
}

/* Checks the kernel of a call that sets a parameter; the parameter itself is never read. */
static CUresult kernel_known(CUfunction f)
{
	return kernel_checked(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuParamSetSize(CUfunction f, unsigned bytes)
{
	(void)bytes;
	return kernel_known(f);
}

CUresult sim_cuParamSeti(CUfunction f, int offset, unsigned value)
{
	(void)offset, (void)value;
	return kernel_known(f);
}

CUresult sim_cuParamSetf(CUfunction f, int offset, float value)
{
	(void)offset, (void)value;
	return kernel_known(f);
}

CUresult sim_cuParamSetv(CUfunction f, int offset, void *data, unsigned bytes)
{
	(void)offset, (void)data, (void)bytes;
	return kernel_known(f);
}

/* ---- green contexts: each owns the whole device ---- */

CUresult sim_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
				    CUdevResourceType type)
{
	CUresult rc = engine_device_check(device);
	if (!rc && (!resource || type != CU_DEV_RESOURCE_TYPE_SM))
		rc = CUDA_ERROR_INVALID_RESOURCE_TYPE;
	if (rc)
		return rc;
	memset(resource, 0, sizeof(*resource));
	resource->type = type;
	resource->sm.smCount = 132;
	return CUDA_SUCCESS;
}

CUresult sim_cuDevResourceGenerateDesc(CUdevResourceDesc *description, CUdevResource *resources,
				       unsigned count)
{
	static char description_of_all;
	if (!description || !resources || !count)
		return CUDA_ERROR_INVALID_VALUE;
	*description = (CUdevResourceDesc)&description_of_all;
	return CUDA_SUCCESS;
}

CUresult sim_cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc description, CUdevice device,
			      unsigned flags)
{
	CUcontext context, pushed;
	if (!green || !description || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult rc = sim_cuCtxCreate_v2(&context, 0, device) ?: sim_cuCtxPopCurrent_v2(&pushed);
	*green = (CUgreenCtx)context;
	return rc;
}

CUresult sim_cuGreenCtxDestroy(CUgreenCtx green)
{
	return sim_cuCtxDestroy_v2((CUcontext)green);
}

CUresult sim_cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green)
{
	*context = (CUcontext)green;
	return engine_context_checked(*context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned flags,
				    int priority)
{
	struct context *c = engine_context_checked((CUcontext)green);
	if (!c || flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&engine_lock);
	*stream = (CUstream)stream_create_in(c, flags, priority);
	pthread_mutex_unlock(&engine_lock);
	return CUDA_SUCCESS;
}
