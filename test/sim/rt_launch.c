/*
 * The runtime's launches, and what it reports about kernels. Runs on the application's threads.
 */
#include "test/sim/rt.h"

unsigned rt___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
					struct CUstream_st *stream)
{
	struct rt_thread *t = rt_thread();
	if (t->configuration_count == RT_CONFIGURATIONS)
		return cudaErrorInvalidValue;
	int at = t->configuration_count++;
	t->configurations[at].grid = grid;
	t->configurations[at].block = block;
	t->configurations[at].shared = shared;
	t->configurations[at].stream = stream;
	return cudaSuccess;
}

cudaError_t rt___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	struct rt_thread *t = rt_thread();
	if (!t->configuration_count)
		return cudaErrorMissingConfiguration;
	int at = --t->configuration_count;
	*grid = t->configurations[at].grid;
	*block = t->configurations[at].block;
	*shared = t->configurations[at].shared;
	*(void **)stream = t->configurations[at].stream;
	return cudaSuccess;
}

/*
 * Converts the error of a launch. The driver reports "invalid value" for a bad shape and "invalid
 * handle" for a bad kernel; the runtime has its own errors for them.
 */
static cudaError_t launch_error(CUresult rc)
{
	if (rc == CUDA_ERROR_INVALID_VALUE)
		return cudaErrorInvalidConfiguration;
	return rc == CUDA_ERROR_INVALID_HANDLE ? cudaErrorInvalidResourceHandle : RT(rc);
}

static cudaError_t kernel_launch(CUfunction f, dim3 grid, dim3 block, void **args, size_t shared,
				 cudaStream_t stream)
{
	cudaError_t rc = rt_context();
	return rc
		       ?: launch_error(DRV(cuLaunchKernel)(f, grid.x, grid.y, grid.z, block.x,
							   block.y, block.z, (unsigned)shared,
							   stream, args, NULL));
}

cudaError_t rt_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
				size_t shared, cudaStream_t stream)
{
	CUfunction f;
	return rt_function(function, &f) ?: kernel_launch(f, grid, block, args, shared, stream);
}

cudaError_t rt___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				  size_t shared, cudaStream_t stream)
{
	return rt_cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

cudaError_t rt_cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args,
					   size_t shared, cudaStream_t stream)
{
	CUfunction f;
	cudaError_t rc = rt_function(function, &f) ?: rt_context();
	return rc
		       ?: launch_error(DRV(cuLaunchCooperativeKernel)(
				  f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
				  (unsigned)shared, stream, args));
}

/* Converts a launch configuration. cudaLaunchAttribute and CUlaunchAttribute are the same struct
 * with two names. */
static CUlaunchConfig config_driver(const cudaLaunchConfig_t *c)
{
	return (CUlaunchConfig){ .gridDimX = c->gridDim.x,
				 .gridDimY = c->gridDim.y,
				 .gridDimZ = c->gridDim.z,
				 .blockDimX = c->blockDim.x,
				 .blockDimY = c->blockDim.y,
				 .blockDimZ = c->blockDim.z,
				 .sharedMemBytes = (unsigned)c->dynamicSmemBytes,
				 .hStream = c->stream,
				 .attrs = (CUlaunchAttribute *)c->attrs,
				 .numAttrs = c->numAttrs };
}

cudaError_t rt_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
				   void **args)
{
	CUfunction f;
	if (!config)
		return cudaErrorInvalidValue;
	cudaError_t rc = rt_function(function, &f) ?: rt_context();
	CUlaunchConfig c = config_driver(config);
	return rc ?: launch_error(DRV(cuLaunchKernelEx)(&c, f, args, NULL));
}

cudaError_t rt_cudaFuncGetName(const char **name, const void *function)
{
	CUfunction f;
	return rt_function(function, &f) ?: RT(DRV(cuFuncGetName)(name, f));
}

cudaError_t rt_cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *function)
{
	CUfunction f;
	int v[16] = { 0 };
	cudaError_t rc = rt_context() ?: rt_function(function, &f);
	for (int i = 0; i < 10 && !rc; i++)
		rc = RT(DRV(cuFuncGetAttribute)(&v[i], (CUfunction_attribute)i, f));
	if (rc)
		return rc == cudaErrorInvalidResourceHandle ? cudaErrorInvalidDeviceFunction : rc;
	memset(out, 0, sizeof(*out));
	out->maxThreadsPerBlock = v[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
	out->sharedSizeBytes = v[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
	out->constSizeBytes = v[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES];
	out->localSizeBytes = v[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES];
	out->numRegs = v[CU_FUNC_ATTRIBUTE_NUM_REGS];
	out->ptxVersion = v[CU_FUNC_ATTRIBUTE_PTX_VERSION];
	out->binaryVersion = v[CU_FUNC_ATTRIBUTE_BINARY_VERSION];
	out->cacheModeCA = v[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA];
	out->maxDynamicSharedSizeBytes = v[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
	out->preferredShmemCarveout = v[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT];
	return cudaSuccess;
}

cudaError_t rt_cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute,
				    int value)
{
	CUfunction f;
	cudaError_t rc = rt_context() ?: rt_function(function, &f);
	return rc ?: RT(DRV(cuFuncSetAttribute)(f, (CUfunction_attribute)attribute, value));
}

cudaError_t rt_cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
	CUfunction f;
	cudaError_t rc = rt_context() ?: rt_function(function, &f);
	return rc ?: RT(DRV(cuFuncSetCacheConfig)(f, (CUfunc_cache)config));
}

cudaError_t rt_cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config)
{
	CUfunction f;
	(void)config;
	return rt_function(function, &f);
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
								      const void *function,
								      int threads, size_t shared,
								      unsigned flags)
{
	CUfunction f;
	cudaError_t rc = rt_context() ?: rt_function(function, &f);
	return rc
		       ?: RT(DRV(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
				  blocks, f, threads, shared, flags));
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
							     int threads, size_t shared)
{
	return rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
									 shared, 0);
}

cudaError_t rt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function,
							 int blocks, int threads)
{
	CUfunction f;
	cudaError_t rc = rt_context() ?: rt_function(function, &f);
	return rc ?: RT(DRV(cuOccupancyAvailableDynamicSMemPerBlock)(bytes, f, blocks, threads));
}

#define CLUSTER_OCCUPANCY(name)                                             \
	cudaError_t rt_cuda##name(int *answer, const void *function,        \
				  const cudaLaunchConfig_t *config)         \
	{                                                                   \
		CUfunction f;                                               \
		cudaError_t rc = rt_context() ?: rt_function(function, &f); \
		CUlaunchConfig c = config_driver(config);                   \
		return rc ?: RT(DRV(cu##name)(answer, f, &c));              \
	}
CLUSTER_OCCUPANCY(OccupancyMaxActiveClusters)
CLUSTER_OCCUPANCY(OccupancyMaxPotentialClusterSize)
