/*
 * The runtime's copies and memsets. Each makes the driver call that the real runtime makes for that
 * kind of copy.
 */
#include "test/sim/rt.h"

#define P(pointer) ((CUdeviceptr)(pointer))

cudaError_t rt_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			       cudaStream_t stream)
{
	cudaError_t rc = rt_context();
	if (rc)
		return rc;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return RT(DRV(cuMemcpyHtoDAsync_v2)(P(to), from, bytes, stream));
	case cudaMemcpyDeviceToHost:
		return RT(DRV(cuMemcpyDtoHAsync_v2)(to, P(from), bytes, stream));
	case cudaMemcpyDeviceToDevice:
		return RT(DRV(cuMemcpyDtoDAsync_v2)(P(to), P(from), bytes, stream));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return RT(DRV(cuMemcpyAsync)(P(to), P(from), bytes, stream));
	}
	return cudaErrorInvalidMemcpyDirection;
}

cudaError_t rt_cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	cudaError_t rc = rt_context();
	if (rc)
		return rc;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return RT(DRV(cuMemcpyHtoD_v2)(P(to), from, bytes));
	case cudaMemcpyDeviceToHost:
		return RT(DRV(cuMemcpyDtoH_v2)(to, P(from), bytes));
	case cudaMemcpyDeviceToDevice:
		return RT(DRV(cuMemcpyDtoD_v2)(P(to), P(from), bytes));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return RT(DRV(cuMemcpy)(P(to), P(from), bytes));
	}
	return cudaErrorInvalidMemcpyDirection;
}

static bool from_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
}

static bool to_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
}

static CUmemorytype memory_type(bool device, enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
	       : device			 ? CU_MEMORYTYPE_DEVICE
					 : CU_MEMORYTYPE_HOST;
}

static void source_plain(CUDA_MEMCPY2D *c, const void *from, size_t pitch, enum cudaMemcpyKind kind)
{
	c->srcMemoryType = memory_type(from_device(kind), kind);
	c->srcHost = from;
	c->srcDevice = P(from);
	c->srcPitch = pitch;
}

static void target_plain(CUDA_MEMCPY2D *c, void *to, size_t pitch, enum cudaMemcpyKind kind)
{
	c->dstMemoryType = memory_type(to_device(kind), kind);
	c->dstHost = to;
	c->dstDevice = P(to);
	c->dstPitch = pitch;
}

static void source_array(CUDA_MEMCPY2D *c, cudaArray_const_t from, size_t x, size_t y)
{
	c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
	c->srcArray = (CUarray)from;
	c->srcXInBytes = x;
	c->srcY = y;
}

static void target_array(CUDA_MEMCPY2D *c, cudaArray_t to, size_t x, size_t y)
{
	c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
	c->dstArray = (CUarray)to;
	c->dstXInBytes = x;
	c->dstY = y;
}

static cudaError_t run_2d(const CUDA_MEMCPY2D *c, bool async, cudaStream_t stream)
{
	cudaError_t rc = rt_context();
	if (rc)
		return rc;
	return RT(async ? DRV(cuMemcpy2DAsync_v2)(c, stream) : DRV(cuMemcpy2DUnaligned_v2)(c));
}

static cudaError_t plain_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			    size_t width, size_t height, enum cudaMemcpyKind kind, bool async,
			    cudaStream_t stream)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = width, .Height = height };
	if (width > to_pitch || width > from_pitch)
		return cudaErrorInvalidPitchValue;
	source_plain(&c, from, from_pitch, kind);
	target_plain(&c, to, to_pitch, kind);
	return run_2d(&c, async, stream);
}

cudaError_t rt_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			    size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return plain_2d(to, to_pitch, from, from_pitch, width, height, kind, false, NULL);
}

cudaError_t rt_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
				 size_t width, size_t height, enum cudaMemcpyKind kind,
				 cudaStream_t stream)
{
	return plain_2d(to, to_pitch, from, from_pitch, width, height, kind, true, stream);
}

static cudaError_t to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
			    size_t width, size_t height, enum cudaMemcpyKind kind, bool async,
			    cudaStream_t stream)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = width, .Height = height };
	source_plain(&c, from, pitch, kind);
	target_array(&c, to, x, y);
	return run_2d(&c, async, stream);
}

static cudaError_t from_array(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
			      size_t width, size_t height, enum cudaMemcpyKind kind, bool async,
			      cudaStream_t stream)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = width, .Height = height };
	source_array(&c, from, x, y);
	target_plain(&c, to, pitch, kind);
	return run_2d(&c, async, stream);
}

cudaError_t rt_cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from,
				   size_t pitch, size_t width, size_t height,
				   enum cudaMemcpyKind kind)
{
	return to_array(to, x, y, from, pitch, width, height, kind, false, NULL);
}

cudaError_t rt_cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
					size_t pitch, size_t width, size_t height,
					enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return to_array(to, x, y, from, pitch, width, height, kind, true, stream);
}

cudaError_t rt_cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x,
				     size_t y, size_t width, size_t height,
				     enum cudaMemcpyKind kind)
{
	return from_array(to, pitch, from, x, y, width, height, kind, false, NULL);
}

cudaError_t rt_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x,
					  size_t y, size_t width, size_t height,
					  enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return from_array(to, pitch, from, x, y, width, height, kind, true, stream);
}

cudaError_t rt_cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
				 enum cudaMemcpyKind kind)
{
	return to_array(to, x, y, from, bytes, bytes, 1, kind, false, NULL);
}

cudaError_t rt_cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
				      size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return to_array(to, x, y, from, bytes, bytes, 1, kind, true, stream);
}

cudaError_t rt_cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y,
				   size_t bytes, enum cudaMemcpyKind kind)
{
	return from_array(to, bytes, from, x, y, bytes, 1, kind, false, NULL);
}

cudaError_t rt_cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y,
					size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return from_array(to, bytes, from, x, y, bytes, 1, kind, true, stream);
}

cudaError_t rt_cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
					cudaArray_const_t from, size_t from_x, size_t from_y,
					size_t width, size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = width, .Height = height };
	(void)kind;
	source_array(&c, from, from_x, from_y);
	target_array(&c, to, to_x, to_y);
	return run_2d(&c, false, NULL);
}

cudaError_t rt_cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
				      cudaArray_const_t from, size_t from_x, size_t from_y,
				      size_t bytes, enum cudaMemcpyKind kind)
{
	return rt_cudaMemcpy2DArrayToArray(to, to_x, to_y, from, from_x, from_y, bytes, 1, kind);
}

/* ---- 3D ---- */

static size_t array_element(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	if (DRV(cuArray3DGetDescriptor_v2)(&d, (CUarray)array))
		return 1;
	return (size_t)rt_channel_bits(d.Format) / 8 * d.NumChannels ?: 1;
}

/* Converts the parameters of a 3D copy. Offsets and widths count elements if an array takes part,
 * otherwise bytes. */
cudaError_t rt_copy_3d_driver(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
	size_t element = p->srcArray   ? array_element(p->srcArray)
			 : p->dstArray ? array_element(p->dstArray)
				       : 1;
	*c = (CUDA_MEMCPY3D){ .srcXInBytes = p->srcPos.x * (p->srcArray ? element : 1),
			      .srcY = p->srcPos.y,
			      .srcZ = p->srcPos.z,
			      .srcMemoryType = memory_type(from_device(p->kind), p->kind),
			      .srcHost = p->srcPtr.ptr,
			      .srcDevice = P(p->srcPtr.ptr),
			      .srcPitch = p->srcPtr.pitch,
			      .srcHeight = p->srcPtr.ysize,
			      .dstXInBytes = p->dstPos.x * (p->dstArray ? element : 1),
			      .dstY = p->dstPos.y,
			      .dstZ = p->dstPos.z,
			      .dstMemoryType = memory_type(to_device(p->kind), p->kind),
			      .dstHost = p->dstPtr.ptr,
			      .dstDevice = P(p->dstPtr.ptr),
			      .dstPitch = p->dstPtr.pitch,
			      .dstHeight = p->dstPtr.ysize,
			      .WidthInBytes = p->extent.width * element,
			      .Height = p->extent.height,
			      .Depth = p->extent.depth };
	if (p->srcArray) {
		c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		c->srcArray = (CUarray)p->srcArray;
	}
	if (p->dstArray) {
		c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		c->dstArray = (CUarray)p->dstArray;
	}
	if (!p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr)
		return cudaErrorInvalidValue;
	return cudaSuccess;
}

#define COPY_3D(name, now, later, type, to_driver)                                               \
	cudaError_t rt_cuda##name(const struct cuda##name##Parms *p)                             \
	{                                                                                        \
		type c;                                                                          \
		cudaError_t rc = rt_context() ?: to_driver(p, &c);                               \
		return rc ?: RT(DRV(now)(&c));                                                   \
	}                                                                                        \
	cudaError_t rt_cuda##name##Async(const struct cuda##name##Parms *p, cudaStream_t stream) \
	{                                                                                        \
		type c;                                                                          \
		cudaError_t rc = rt_context() ?: to_driver(p, &c);                               \
		return rc ?: RT(DRV(later)(&c, stream));                                         \
	}
COPY_3D(Memcpy3D, cuMemcpy3D_v2, cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, rt_copy_3d_driver)

static cudaError_t peer_driver(const struct cudaMemcpy3DPeerParms *p, CUDA_MEMCPY3D_PEER *out)
{
	CUDA_MEMCPY3D c;
	struct cudaMemcpy3DParms plain = { .srcArray = p->srcArray,
					   .srcPos = p->srcPos,
					   .srcPtr = p->srcPtr,
					   .dstArray = p->dstArray,
					   .dstPos = p->dstPos,
					   .dstPtr = p->dstPtr,
					   .extent = p->extent,
					   .kind = cudaMemcpyDeviceToDevice };
	cudaError_t rc = rt_copy_3d_driver(&plain, &c);
	*out = (CUDA_MEMCPY3D_PEER){ SIM_SIDE_3D(src, &c), SIM_SIDE_3D(dst, &c),
				     SIM_EXTENT_3D(&c) };
	return rc;
}

COPY_3D(Memcpy3DPeer, cuMemcpy3DPeer, cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, peer_driver)

/* ---- peers, symbols, batches ---- */

cudaError_t rt_cudaMemcpyPeer(void *to, int to_device_id, const void *from, int from_device_id,
			      size_t bytes)
{
	(void)to_device_id, (void)from_device_id;
	return rt_context() ?: RT(DRV(cuMemcpyPeer)(P(to), NULL, P(from), NULL, bytes));
}

cudaError_t rt_cudaMemcpyPeerAsync(void *to, int to_device_id, const void *from, int from_device_id,
				   size_t bytes, cudaStream_t stream)
{
	(void)to_device_id, (void)from_device_id;
	return rt_context()
		       ?: RT(DRV(cuMemcpyPeerAsync)(P(to), NULL, P(from), NULL, bytes, stream));
}

static cudaError_t symbol_at(const void *symbol, size_t offset, size_t bytes, char **address)
{
	CUdeviceptr base;
	size_t size;
	cudaError_t rc = rt_symbol(symbol, &base, &size);
	*address = (char *)base + offset;
	return rc ?: offset + bytes > size ? cudaErrorInvalidValue : cudaSuccess;
}

static enum cudaMemcpyKind symbol_kind(enum cudaMemcpyKind kind, bool into)
{
	return kind != cudaMemcpyDefault ? kind
	       : into			 ? cudaMemcpyHostToDevice
					 : cudaMemcpyDeviceToHost;
}

cudaError_t rt_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
				  enum cudaMemcpyKind kind)
{
	char *to;
	return symbol_at(symbol, offset, bytes, &to)
		       ?: rt_cudaMemcpy(to, from, bytes, symbol_kind(kind, true));
}

cudaError_t rt_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
				    enum cudaMemcpyKind kind)
{
	char *from;
	return symbol_at(symbol, offset, bytes, &from)
		       ?: rt_cudaMemcpy(to, from, bytes, symbol_kind(kind, false));
}

cudaError_t rt_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
				       size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *to;
	return symbol_at(symbol, offset, bytes, &to)
		       ?: rt_cudaMemcpyAsync(to, from, bytes, symbol_kind(kind, true), stream);
}

cudaError_t rt_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
					 enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *from;
	return symbol_at(symbol, offset, bytes, &from)
		       ?: rt_cudaMemcpyAsync(to, from, bytes, symbol_kind(kind, false), stream);
}

/* ---- memset ---- */

cudaError_t rt_cudaMemset(void *to, int value, size_t bytes)
{
	return rt_context() ?: RT(DRV(cuMemsetD8_v2)(P(to), (unsigned char)value, bytes));
}

cudaError_t rt_cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	return rt_context() ?: RT(DRV(cuMemsetD8Async)(P(to), (unsigned char)value, bytes, stream));
}

cudaError_t rt_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
	return rt_context()
		       ?: RT(DRV(cuMemsetD2D8_v2)(P(to), pitch, (unsigned char)value, width,
						  height));
}

cudaError_t rt_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
				 cudaStream_t stream)
{
	return rt_context()
		       ?: RT(DRV(cuMemsetD2D8Async)(P(to), pitch, (unsigned char)value, width,
						    height, stream));
}

static cudaError_t memset_3d(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
			     bool async, cudaStream_t stream)
{
	cudaError_t rc = rt_context();
	for (size_t z = 0; z < extent.depth && !rc; z++) {
		CUdeviceptr slice = P(to.ptr) + z * to.pitch * to.ysize;
		rc = RT(async ? DRV(cuMemsetD2D8Async)(slice, to.pitch, (unsigned char)value,
						       extent.width, extent.height, stream)
			      : DRV(cuMemsetD2D8_v2)(slice, to.pitch, (unsigned char)value,
						     extent.width, extent.height));
	}
	return rc;
}

cudaError_t rt_cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
	return memset_3d(to, value, extent, false, NULL);
}

cudaError_t rt_cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
				 cudaStream_t stream)
{
	return memset_3d(to, value, extent, true, stream);
}
