/*
 * What the runtime reports about devices and pointers, in CUDA 12's and CUDA 13's structs. Runs on
 * the application's threads.
 */
#include "test/sim/rt.h"
#include "test/sim/rt_twelve.h"

/* struct cudaDeviceProp of CUDA 12. CUDA 13 removed members from its middle. */
struct rt12_device_prop {
	char name[256];
	cudaUUID_t uuid;
	char luid[8];
	unsigned luidDeviceNodeMask;
	size_t totalGlobalMem, sharedMemPerBlock;
	int regsPerBlock, warpSize;
	size_t memPitch;
	int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
	size_t totalConstMem;
	int major, minor;
	size_t textureAlignment, texturePitchAlignment;
	int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated,
		canMapHostMemory, computeMode;
	int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2],
		maxTexture2DMipmap[2];
	int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3],
		maxTextureCubemap;
	int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2],
		maxSurface1D;
	int maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
	int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
	size_t surfaceAlignment;
	int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,
		asyncEngineCount;
	int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize,
		persistingL2CacheMaxSize;
	int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported,
		localL1CacheSupported;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
		hostNativeAtomicSupported;
	int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess;
	int computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
	int cooperativeMultiDeviceLaunch;
	size_t sharedMemPerBlockOptin;
	int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,
		maxBlocksPerMultiProcessor;
	int accessPolicyMaxWindowSize;
	size_t reservedSharedMemPerBlock;
	int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
	int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
	unsigned gpuDirectRDMAFlushWritesOptions;
	int gpuDirectRDMAWritesOrdering;
	unsigned memoryPoolSupportedHandleTypes;
	int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch,
		unifiedFunctionPointers, reserved[63];
};
_Static_assert(sizeof(struct rt12_device_prop) == 1032, "CUDA 12's struct cudaDeviceProp");
_Static_assert(sizeof(struct cudaDeviceProp) == 1008, "CUDA 13's struct cudaDeviceProp");

/*
 * Size of the struct that cudaGetDeviceProperties (without _v2) of libcudart.so.12 fills in. It is
 * CUDA 11's struct, a prefix of CUDA 12's.
 */
#define PROP11_BYTES 712

static int attribute(CUdevice_attribute a, int device)
{
	int value = 0;
	DRV(cuDeviceGetAttribute)(&value, a, device);
	return value;
}

#define A(name) attribute(CU_DEVICE_ATTRIBUTE_##name, device)

static cudaError_t device_checked(int device, size_t *total)
{
	int count;
	cudaError_t rc = rt_cudaGetDeviceCount(&count);
	if (!rc && (device < 0 || device >= count))
		rc = cudaErrorInvalidDevice;
	return rc ?: RT(DRV(cuDeviceTotalMem_v2)(total, device));
}

#define CLEAR_AND_NAME(p, device)                                                                \
	(memset(p, 0, sizeof(*(p))), DRV(cuDeviceGetName)((p)->name, sizeof((p)->name), device), \
	 DRV(cuDeviceGetUuid_v2)((CUuuid *)&(p)->uuid, device))

cudaError_t rt_cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	size_t total;
	cudaError_t rc = p ? device_checked(device, &total) : cudaErrorInvalidValue;
	if (rc)
		return rc;
	CLEAR_AND_NAME(p, device);
#define FIELD(name, value) p->name = value;
#include "test/sim/rt_prop.def"
#undef FIELD
	return cudaSuccess;
}

cudaError_t rt12_cudaGetDeviceProperties_v2(void *properties, int device)
{
	size_t total;
	struct rt12_device_prop *p = properties;
	cudaError_t rc = p ? device_checked(device, &total) : cudaErrorInvalidValue;
	if (rc)
		return rc;
	CLEAR_AND_NAME(p, device);
#define FIELD(name, value) p->name = value;
#include "test/sim/rt_prop.def"
#undef FIELD
	p->clockRate = A(CLOCK_RATE);
	p->deviceOverlap = A(GPU_OVERLAP);
	p->memoryClockRate = A(MEMORY_CLOCK_RATE);
	p->singleToDoublePrecisionPerfRatio = A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
	return cudaSuccess;
}

cudaError_t rt12_cudaGetDeviceProperties(void *properties, int device)
{
	struct rt12_device_prop p;
	cudaError_t rc = rt12_cudaGetDeviceProperties_v2(&p, device);
	if (!rc)
		memcpy(properties, &p, PROP11_BYTES);
	return rc;
}

/* The runtime's attribute numbers are equal to the driver's. */
cudaError_t rt_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr a, int device)
{
	size_t total;
	cudaError_t rc = rt_tools ? cudaSuccess : device_checked(device, &total);
	return rc ?: RT(DRV(cuDeviceGetAttribute)(value, (CUdevice_attribute)a, device));
}

cudaError_t rt_cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
	int count;
	cudaError_t rc = wanted ? rt_cudaGetDeviceCount(&count) : cudaErrorInvalidValue;
	if (!rc)
		*device = 0;
	return rc;
}

cudaError_t rt_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr a, int from, int to)
{
	return rt_load()
		       ?: RT(DRV(cuDeviceGetP2PAttribute)(value, (CUdevice_P2PAttribute)a, from,
							  to));
}

static cudaError_t peer_context(int device, CUcontext *context)
{
	size_t total;
	cudaError_t rc = device_checked(device, &total) ?: rt_context() ?:
			 RT(DRV(cuDevicePrimaryCtxRetain)(context, device));
	return rc;
}

cudaError_t rt_cudaDeviceEnablePeerAccess(int device, unsigned flags)
{
	CUcontext peer;
	cudaError_t rc = peer_context(device, &peer);
	if (rc)
		return rc;
	CUresult status = DRV(cuCtxEnablePeerAccess)(peer, flags);
	return status == CUDA_ERROR_INVALID_CONTEXT ? cudaErrorInvalidDevice : RT(status);
}

cudaError_t rt_cudaDeviceDisablePeerAccess(int device)
{
	CUcontext peer;
	return peer_context(device, &peer) ?: RT(DRV(cuCtxDisablePeerAccess)(peer));
}

cudaError_t rt_cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
						  enum cudaFlushGPUDirectRDMAWritesScope scope)
{
	(void)target, (void)scope;
	return cudaErrorNotSupported;
}

cudaError_t rt_cudaDeviceGetTexture1DLinearMaxWidth(size_t *width,
						    const struct cudaChannelFormatDesc *format,
						    int device)
{
	(void)format;
	return rt_load()
		       ?: RT(DRV(cuDeviceGetTexture1DLinearMaxWidth)(width, CU_AD_FORMAT_FLOAT, 1,
								     device));
}

cudaError_t rt_cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *address)
{
	unsigned type = 0, managed = 0;
	int device = -2;
	void *host = NULL;
	CUdeviceptr there = 0;
	CUpointer_attribute wanted[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					 CU_POINTER_ATTRIBUTE_IS_MANAGED,
					 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
					 CU_POINTER_ATTRIBUTE_HOST_POINTER,
					 CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
	void *values[] = { &type, &managed, &device, &host, &there };
	if (!out)
		return cudaErrorInvalidValue;
	cudaError_t rc =
		rt_context()
			?: RT(DRV(cuPointerGetAttributes)(5, wanted, values, (CUdeviceptr)address));
	if (rc)
		return rc;
	memset(out, 0, sizeof(*out));
	out->device = device;
	out->devicePointer = (void *)there;
	out->hostPointer = host;
	out->type = managed			   ? cudaMemoryTypeManaged
		    : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
		    : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
						   : cudaMemoryTypeUnregistered;
	/* for memory that CUDA does not know, the pointer itself is the host pointer */
	if (out->type == cudaMemoryTypeUnregistered)
		out->hostPointer = (void *)address;
	return cudaSuccess;
}
