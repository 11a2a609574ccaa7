/*
 * Occupancy, computed for an H100 from threads and shared memory only. Any thread.
 */
#include "test/sim/engine.h"

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction f,
								  int threads, size_t shared,
								  unsigned flags)
{
	(void)flags;
	if (!kernel_checked(f))
		return CUDA_ERROR_INVALID_HANDLE;
	if (threads < 1)
		return CUDA_ERROR_INVALID_VALUE;
	int by_threads = threads > 1024 ? 0 : 2048 / ((threads + 31) & ~31);
	int by_shared = (int)(233472 / (shared + 1024));
	*blocks = by_threads < by_shared ? by_threads : by_shared;
	if (*blocks > 32)
		*blocks = 32;
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads,
							 size_t shared)
{
	return sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, shared,
									0);
}

CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction f,
						       CUoccupancyB2DSize shared_of, size_t shared,
						       int limit, unsigned flags)
{
	(void)shared_of, (void)shared, (void)flags;
	if (!kernel_checked(f))
		return CUDA_ERROR_INVALID_HANDLE;
	*block = limit > 0 && limit < 1024 ? limit : 1024;
	*grid = 132 * (2048 / ((*block + 31) & ~31));
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f,
					      CUoccupancyB2DSize shared_of, size_t shared,
					      int limit)
{
	return sim_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, f, shared_of, shared,
							     limit, 0);
}

CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction f, int blocks,
						     int threads)
{
	(void)threads;
	if (!kernel_checked(f) || blocks < 1)
		return CUDA_ERROR_INVALID_VALUE;
	size_t each = 233472 / blocks;
	*bytes = each > 1024 ? each - 1024 : 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveClusters(int *clusters, CUfunction f, const CUlaunchConfig *config)
{
	(void)config;
	*clusters = 66;
	return kernel_checked(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction f,
						const CUlaunchConfig *config)
{
	(void)config;
	*size = 8;
	return kernel_checked(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
