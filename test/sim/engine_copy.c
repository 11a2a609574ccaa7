/*
 * The driver's copy and memset calls. Each becomes a struct move. Runs on the application's
 * threads.
 */
#include "test/sim/engine.h"

static void move_run_and_free(void *move)
{
	move_run(move);
	free(move);
}

static CUresult move_submit(const struct move *template, CUstream stream, bool async)
{
	struct stream *s;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = stream_find(stream, &s);
	bool capturing = !rc && capture_active(s);
	if (!rc && capturing)
		rc = async ? capture_move(s, template) : capture_forbids(s);
	struct result result = { .value = -1 };
	if (!rc && !capturing)
		result = stream_result(s);
	pthread_mutex_unlock(&engine_lock);
	if (rc || capturing)
		return rc;
	if (!template->copy.WidthInBytes || !template->copy.Height || !template->copy.Depth)
		return CUDA_SUCCESS;
	struct move *m = malloc(sizeof(*m));
	*m = *template;
	m->context = s->context;
	m->result = result;
	struct op_request request = { .action = move_run_and_free, .arg = m };
	rc = move_describe(m, &request);
	if (rc) {
		free(m);
		return rc;
	}
	if (m->is_set)
		request.desc.u.set.async = async;
	else
		request.desc.u.copy.async = async;
	enum move_wait wait = move_waits(&request.desc);
	struct when end;
	int64_t duration = request.duration_ns;
	rc = stream_run(stream, &request, engine_settings.launch_us, wait ? &end : NULL);
	if (!rc && wait == MOVE_WAIT_END)
		op_wait(end, false);
	else if (!rc && wait == MOVE_WAIT_START)
		op_wait_before(end, duration);
	return rc;
}

static CUresult sync_or_unsafe(bool async)
{
	return async ? CUDA_SUCCESS : capture_unsafe();
}

CUresult copy_3d(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool async)
{
	struct move m = { .copy = *copy };
	return sync_or_unsafe(async) ?: move_submit(&m, stream, async);
}

struct move move_linear(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemorytype to_type,
			CUmemorytype from_type)
{
	struct move m = { .linear = true };
	m.copy.dstMemoryType = to_type;
	m.copy.srcMemoryType = from_type;
	m.copy.dstHost = (void *)to;
	m.copy.dstDevice = to;
	m.copy.srcHost = (void *)from;
	m.copy.srcDevice = from;
	m.copy.WidthInBytes = bytes;
	m.copy.Height = m.copy.Depth = 1;
	return m;
}

static CUresult copy_linear(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemorytype to_type,
			    CUmemorytype from_type, CUstream stream, bool async)
{
	struct move m = move_linear(to, from, bytes, to_type, from_type);
	if (bytes && (!to || !from))
		return CUDA_ERROR_INVALID_VALUE;
	return sync_or_unsafe(async) ?: move_submit(&m, stream, async);
}

#define HOST	CU_MEMORYTYPE_HOST
#define DEVICE	CU_MEMORYTYPE_DEVICE
#define UNIFIED CU_MEMORYTYPE_UNIFIED
#define AT(p)	((CUdeviceptr)(p))

CUresult sim_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy_linear(to, from, bytes, UNIFIED, UNIFIED, NULL, false);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy_linear(to, from, bytes, UNIFIED, UNIFIED, stream, true);
}

CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	return copy_linear(to, AT(from), bytes, DEVICE, HOST, NULL, false);
}

CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	return copy_linear(to, AT(from), bytes, DEVICE, HOST, stream, true);
}

CUresult sim_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	return copy_linear(AT(to), from, bytes, HOST, DEVICE, NULL, false);
}

CUresult sim_cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy_linear(AT(to), from, bytes, HOST, DEVICE, stream, true);
}

CUresult sim_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy_linear(to, from, bytes, DEVICE, DEVICE, NULL, false);
}

CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy_linear(to, from, bytes, DEVICE, DEVICE, stream, true);
}

CUresult sim_cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
			  CUcontext from_context, size_t bytes)
{
	(void)to_context, (void)from_context;
	return copy_linear(to, from, bytes, DEVICE, DEVICE, NULL, false);
}

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
			       CUcontext from_context, size_t bytes, CUstream stream)
{
	(void)to_context, (void)from_context;
	return copy_linear(to, from, bytes, DEVICE, DEVICE, stream, true);
}

/* Copies a unified address to the device field, because the caller may set either of two fields. */
static CUDA_MEMCPY3D_PEER with_unified(CUDA_MEMCPY3D_PEER c)
{
	if (c.srcMemoryType == UNIFIED && !c.srcDevice)
		c.srcDevice = AT(c.srcHost);
	if (c.dstMemoryType == UNIFIED && !c.dstDevice)
		c.dstDevice = AT(c.dstHost);
	return c;
}

static CUDA_MEMCPY3D_PEER from_2d(const CUDA_MEMCPY2D *c)
{
	return with_unified((CUDA_MEMCPY3D_PEER){ SIM_SIDE_2D(src, c), SIM_SIDE_2D(dst, c),
						  .WidthInBytes = c->WidthInBytes,
						  .Height = c->Height, .Depth = 1 });
}

CUDA_MEMCPY3D_PEER copy_from_3d(const CUDA_MEMCPY3D *c)
{
	return with_unified(
		(CUDA_MEMCPY3D_PEER){ SIM_SIDE_3D(src, c), SIM_SIDE_3D(dst, c), SIM_EXTENT_3D(c) });
}

CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
	CUDA_MEMCPY3D_PEER c = from_2d(copy);
	return copy_3d(&c, NULL, false);
}

CUresult sim_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
	return sim_cuMemcpy2D_v2(copy);
}

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	CUDA_MEMCPY3D_PEER c = from_2d(copy);
	return copy_3d(&c, stream, true);
}

CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
	CUDA_MEMCPY3D_PEER c = copy_from_3d(copy);
	return copy_3d(&c, NULL, false);
}

CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	CUDA_MEMCPY3D_PEER c = copy_from_3d(copy);
	return copy_3d(&c, stream, true);
}

CUresult sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy)
{
	return copy_3d(copy, NULL, false);
}

CUresult sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
	return copy_3d(copy, stream, true);
}

/* ---- arrays as one end of a linear copy ---- */

static CUresult copy_array(CUarray to, size_t to_offset, CUdeviceptr to_plain, CUmemorytype to_type,
			   CUarray from, size_t from_offset, CUdeviceptr from_plain,
			   CUmemorytype from_type, size_t bytes, CUstream stream, bool async)
{
	struct move m = move_linear(to_plain, from_plain, bytes, to ? CU_MEMORYTYPE_ARRAY : to_type,
				    from ? CU_MEMORYTYPE_ARRAY : from_type);
	m.copy.dstArray = to;
	m.copy.srcArray = from;
	m.copy.dstXInBytes = to_offset;
	m.copy.srcXInBytes = from_offset;
	return sync_or_unsafe(async) ?: move_submit(&m, stream, async);
}

CUresult sim_cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t bytes)
{
	return copy_array(to, offset, 0, 0, NULL, 0, AT(from), HOST, bytes, NULL, false);
}

CUresult sim_cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t bytes,
				  CUstream stream)
{
	return copy_array(to, offset, 0, 0, NULL, 0, AT(from), HOST, bytes, stream, true);
}

CUresult sim_cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t bytes)
{
	return copy_array(NULL, 0, AT(to), HOST, from, offset, 0, 0, bytes, NULL, false);
}

CUresult sim_cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t bytes,
				  CUstream stream)
{
	return copy_array(NULL, 0, AT(to), HOST, from, offset, 0, 0, bytes, stream, true);
}

CUresult sim_cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
	return copy_array(to, offset, 0, 0, NULL, 0, from, DEVICE, bytes, NULL, false);
}

CUresult sim_cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
	return copy_array(NULL, 0, to, DEVICE, from, offset, 0, 0, bytes, NULL, false);
}

CUresult sim_cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset,
			     size_t bytes)
{
	return copy_array(to, to_offset, 0, 0, from, from_offset, 0, 0, bytes, NULL, false);
}

/* ---- batches ---- */

CUresult sim_cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
				   CUmemcpyAttributes *attributes, size_t *indices,
				   size_t attribute_count, CUstream stream)
{
	(void)attributes, (void)indices, (void)attribute_count;
	CUresult rc = CUDA_SUCCESS;
	for (size_t i = 0; i < count && !rc; i++)
		rc = sim_cuMemcpyAsync(to[i], from[i], bytes[i], stream);
	return rc;
}

CUresult sim_cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
				CUmemcpyAttributes *attributes, size_t *indices,
				size_t attribute_count, size_t *failed, CUstream stream)
{
	(void)attributes, (void)indices, (void)attribute_count;
	CUresult rc = CUDA_SUCCESS;
	for (size_t i = 0; i < count && !rc; i++) {
		rc = sim_cuMemcpyAsync(to[i], from[i], bytes[i], stream);
		if (rc && failed)
			*failed = i;
	}
	return rc;
}

static void operand_fill(const CUmemcpy3DOperand *o, CUmemorytype *type, CUdeviceptr *device,
			 CUarray *array, size_t *pitch, size_t *height, size_t *x, size_t *y,
			 size_t *z)
{
	if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
		*type = UNIFIED;
		*device = o->op.ptr.ptr;
		*pitch = o->op.ptr.rowLength;
		*height = o->op.ptr.layerHeight;
		return;
	}
	*type = CU_MEMORYTYPE_ARRAY;
	*array = o->op.array.array;
	*x = o->op.array.offset.x;
	*y = o->op.array.offset.y;
	*z = o->op.array.offset.z;
}

CUresult sim_cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *list,
				     unsigned long long flags, CUstream stream)
{
	(void)flags;
	CUresult rc = CUDA_SUCCESS;
	for (size_t i = 0; i < count && !rc; i++) {
		CUDA_MEMCPY3D_PEER c = { .WidthInBytes = list[i].extent.width,
					 .Height = list[i].extent.height,
					 .Depth = list[i].extent.depth };
		operand_fill(&list[i].src, &c.srcMemoryType, &c.srcDevice, &c.srcArray, &c.srcPitch,
			     &c.srcHeight, &c.srcXInBytes, &c.srcY, &c.srcZ);
		operand_fill(&list[i].dst, &c.dstMemoryType, &c.dstDevice, &c.dstArray, &c.dstPitch,
			     &c.dstHeight, &c.dstXInBytes, &c.dstY, &c.dstZ);
		rc = copy_3d(&c, stream, true);
	}
	return rc;
}

CUresult sim_cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
				  unsigned long long flags, CUstream stream)
{
	CUresult rc = CUDA_SUCCESS;
	for (size_t i = 0; i < count && !rc; i++) {
		rc = sim_cuMemcpy3DBatchAsync_v2(1, &list[i], flags, stream);
		if (rc && failed)
			*failed = i;
	}
	return rc;
}

/* ---- memset ---- */

struct move move_set(CUdeviceptr to, size_t pitch, unsigned value, size_t element, size_t width,
		     size_t height)
{
	struct move m = { .is_set = true, .value = value, .element = element };
	m.copy.dstMemoryType = DEVICE;
	m.copy.dstDevice = to;
	m.copy.dstPitch = pitch;
	m.copy.WidthInBytes = width * element;
	m.copy.Height = height;
	m.copy.Depth = 1;
	return m;
}

static CUresult copy_set(CUdeviceptr to, size_t pitch, unsigned value, size_t element, size_t width,
			 size_t height, CUstream stream, bool async)
{
	struct move m = move_set(to, pitch, value, element, width, height);
	return sync_or_unsafe(async) ?: move_submit(&m, stream, async);
}

#define MEMSET(bits, type, element)                                                               \
	CUresult sim_cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count)               \
	{                                                                                         \
		return copy_set(to, 0, value, element, count, 1, NULL, false);                    \
	}                                                                                         \
	CUresult sim_cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream s) \
	{                                                                                         \
		return copy_set(to, 0, value, element, count, 1, s, true);                        \
	}                                                                                         \
	CUresult sim_cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value,             \
					    size_t width, size_t height)                          \
	{                                                                                         \
		return copy_set(to, pitch, value, element, width, height, NULL, false);           \
	}                                                                                         \
	CUresult sim_cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value,           \
					      size_t width, size_t height, CUstream s)            \
	{                                                                                         \
		return copy_set(to, pitch, value, element, width, height, s, true);               \
	}

MEMSET(8, unsigned char, 1)
MEMSET(16, unsigned short, 2)
MEMSET(32, unsigned, 4)
