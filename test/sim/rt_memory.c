/*
 * The runtime's allocations that need more than one driver call with the same arguments, its
 * arrays, and the short forms of stream and event creation. Runs on the application's threads.
 */
#include "test/sim/rt.h"

cudaError_t rt_cudaStreamCreate(cudaStream_t *stream)
{
	return rt_context() ?: RT(DRV(cuStreamCreate)(stream, CU_STREAM_DEFAULT));
}

cudaError_t rt_cudaEventCreate(cudaEvent_t *event)
{
	return rt_context() ?: RT(DRV(cuEventCreate)(event, CU_EVENT_DEFAULT));
}

cudaError_t rt_cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	return rt_context()
		       ?: RT(DRV(cuMemAllocPitch_v2)((CUdeviceptr *)address, pitch, width, height,
						     4));
}

cudaError_t rt_cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
	CUdeviceptr address;
	size_t pitch;
	cudaError_t rc = rt_context()
				 ?: RT(DRV(cuMemAllocPitch_v2)(&address, &pitch, extent.width,
							       extent.height * extent.depth, 4));
	if (!rc)
		*out = (struct cudaPitchedPtr){ .ptr = (void *)address,
						.pitch = pitch,
						.xsize = extent.width,
						.ysize = extent.height };
	return rc;
}

/* ---- arrays ---- */

static CUarray_format format_driver(const struct cudaChannelFormatDesc *d)
{
	if (d->f == cudaChannelFormatKindFloat)
		return d->x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
	bool is_signed = d->f == cudaChannelFormatKindSigned;
	switch (d->x) {
	case 8:
		return is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
	case 16:
		return is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
	default:
		return is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
	}
}

static CUDA_ARRAY3D_DESCRIPTOR descriptor(const struct cudaChannelFormatDesc *d,
					  struct cudaExtent e, unsigned flags)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){ .Width = e.width,
					  .Height = e.height,
					  .Depth = e.depth,
					  .Format = format_driver(d),
					  .NumChannels = !!d->x + !!d->y + !!d->z + !!d->w,
					  .Flags = flags };
}

cudaError_t rt_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
				 struct cudaExtent extent, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = descriptor(desc, extent, flags);
	return rt_context() ?: RT(DRV(cuArray3DCreate_v2)((CUarray *)array, &d));
}

cudaError_t rt_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			       size_t width, size_t height, unsigned flags)
{
	return rt_cudaMalloc3DArray(array, desc, (struct cudaExtent){ width, height, 0 }, flags);
}

cudaError_t rt_cudaMallocMipmappedArray(cudaMipmappedArray_t *array,
					const struct cudaChannelFormatDesc *desc,
					struct cudaExtent extent, unsigned levels, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = descriptor(desc, extent, flags);
	return rt_context()
		       ?: RT(DRV(cuMipmappedArrayCreate)((CUmipmappedArray *)array, &d, levels));
}

int rt_channel_bits(CUarray_format format)
{
	static const uint8_t bits[64] = {
		[CU_AD_FORMAT_UNSIGNED_INT8] = 8,   [CU_AD_FORMAT_UNSIGNED_INT16] = 16,
		[CU_AD_FORMAT_UNSIGNED_INT32] = 32, [CU_AD_FORMAT_SIGNED_INT8] = 8,
		[CU_AD_FORMAT_SIGNED_INT16] = 16,   [CU_AD_FORMAT_SIGNED_INT32] = 32,
		[CU_AD_FORMAT_HALF] = 16,	    [CU_AD_FORMAT_FLOAT] = 32
	};
	return bits[format & 63];
}

cudaError_t rt_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
				unsigned *flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t rc = rt_context() ?: RT(DRV(cuArray3DGetDescriptor_v2)(&d, (CUarray)array));
	if (rc)
		return rc;
	int size = rt_channel_bits(d.Format);
	if (desc)
		*desc = (struct cudaChannelFormatDesc){
			size, d.NumChannels > 1 ? size : 0, d.NumChannels > 2 ? size : 0,
			d.NumChannels > 3 ? size : 0,
			d.Format >= CU_AD_FORMAT_HALF	       ? cudaChannelFormatKindFloat
			: d.Format >= CU_AD_FORMAT_SIGNED_INT8 ? cudaChannelFormatKindSigned
							       : cudaChannelFormatKindUnsigned
		};
	if (extent)
		*extent = (struct cudaExtent){ d.Width, d.Height, d.Depth };
	if (flags)
		*flags = d.Flags;
	return cudaSuccess;
}

cudaError_t rt_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	return rt_cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)array);
}

struct cudaChannelFormatDesc rt_cudaCreateChannelDesc(int x, int y, int z, int w,
						      enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){ x, y, z, w, f };
}

cudaError_t rt_cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool,
						  enum cudaMemAllocationHandleType type,
						  unsigned flags)
{
	return rt_context()
		       ?: RT(DRV(cuMemPoolExportToShareableHandle)(
				  handle, pool, (CUmemAllocationHandleType)type, flags));
}

cudaError_t rt_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle,
						    enum cudaMemAllocationHandleType type,
						    unsigned flags)
{
	return rt_context()
		       ?: RT(DRV(cuMemPoolImportFromShareableHandle)(
				  pool, handle, (CUmemAllocationHandleType)type, flags));
}
