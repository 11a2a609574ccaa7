/*
 * Tensor maps: descriptors with which kernels of CUTLASS and Triton load tiles. Kernels load
 * nothing here, so a map contains only the tensor's address. Runs on the application's threads.
 */
#include "test/sim/engine.h"

#define MAP_ALIGNMENT	  64 /* bytes, required by cuda.h */
#define ADDRESS_ALIGNMENT 16

static bool is_aligned(const void *pointer, uintptr_t alignment)
{
	return pointer && !((uintptr_t)pointer & (alignment - 1));
}

static CUresult map_encode(CUtensorMap *map, cuuint32_t rank, cuuint32_t least_rank,
			   const void *address)
{
	if (!is_aligned(map, MAP_ALIGNMENT) || !is_aligned(address, ADDRESS_ALIGNMENT) ||
	    rank < least_rank || rank > 5)
		return CUDA_ERROR_INVALID_VALUE;
	memset(map, 0, sizeof(*map));
	memcpy(map, &address, sizeof(address));
	return CUDA_SUCCESS;
}

CUresult sim_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				    void *address, const cuuint64_t *sizes,
				    const cuuint64_t *strides, const cuuint32_t *box,
				    const cuuint32_t *element_strides,
				    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	(void)type, (void)sizes, (void)strides, (void)box, (void)element_strides, (void)interleave,
		(void)swizzle, (void)promotion, (void)fill;
	return map_encode(map, rank, 1, address);
}

CUresult sim_cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				     void *address, const cuuint64_t *sizes,
				     const cuuint64_t *strides, const int *lower, const int *upper,
				     cuuint32_t channels, cuuint32_t pixels,
				     const cuuint32_t *element_strides,
				     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	(void)type, (void)sizes, (void)strides, (void)lower, (void)upper, (void)channels,
		(void)pixels, (void)element_strides, (void)interleave, (void)swizzle,
		(void)promotion, (void)fill;
	return map_encode(map, rank, 3, address);
}

CUresult
sim_cuTensorMapEncodeIm2colWide(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				void *address, const cuuint64_t *sizes, const cuuint64_t *strides,
				int lower, int upper, cuuint32_t channels, cuuint32_t pixels,
				const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
				CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
				CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	(void)type, (void)sizes, (void)strides, (void)lower, (void)upper, (void)channels,
		(void)pixels, (void)element_strides, (void)interleave, (void)mode, (void)swizzle,
		(void)promotion, (void)fill;
	return map_encode(map, rank, 3, address);
}

CUresult sim_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
	if (!is_aligned(map, MAP_ALIGNMENT) || !is_aligned(address, ADDRESS_ALIGNMENT))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(map, &address, sizeof(address));
	return CUDA_SUCCESS;
}
