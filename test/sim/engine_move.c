/*
 * Describes copies and memsets (kind, bytes, time, whether the host waits), and moves their bytes.
 * Bytes move when the operation is submitted or, if it waits for a host function, after that
 * function has run.
 */
#include "test/sim/engine.h"

#define STAGED_BYTES \
	65536 /* pageable copies up to this size are staged at once: the call does not wait */
#define SETUP_US 1.5 /* time that a copy engine needs to start a copy */

/* CUpti_ActivityMemcpyKind, indexed by the kinds of source and destination: host, device, array. */
static const uint8_t copy_kinds[3][3] = { { 9, 1, 3 }, { 2, 8, 7 }, { 4, 6, 5 } };

enum side { SIDE_HOST, SIDE_DEVICE, SIDE_ARRAY };

struct endpoint {
	enum side side;
	enum sim_memory_kind kind;
	char *base; /* address of the first byte */
	size_t pitch, slice;
	struct allocation *allocation;
	struct device *device;
};

static CUresult endpoint_fill(struct endpoint *e, CUmemorytype type, const void *host,
			      CUdeviceptr device, CUarray array, size_t pitch, size_t height,
			      size_t x, size_t y, size_t z)
{
	if (type == CU_MEMORYTYPE_ARRAY) {
		struct array *a = array_checked(array);
		if (!a)
			return CUDA_ERROR_INVALID_VALUE;
		e->base = a->base + z * a->pitch * a->rows + y * a->pitch + x;
		e->pitch = a->pitch;
		e->slice = a->pitch * a->rows;
	} else {
		const char *p = type == CU_MEMORYTYPE_HOST ? host : (const char *)device;
		e->base = (char *)p + z * pitch * height + y * pitch + x;
		e->pitch = pitch;
		e->slice = pitch * height;
	}
	e->kind = memory_kind_of(e->base, &e->allocation);
	e->device = e->allocation ? e->allocation->device : NULL;
	e->side = e->kind == SIM_MEMORY_DEVICE || e->kind == SIM_MEMORY_MANAGED ? SIDE_DEVICE
										: SIDE_HOST;
	if (type == CU_MEMORYTYPE_ARRAY) {
		e->side = SIDE_ARRAY;
		e->kind = SIM_MEMORY_ARRAY;
	}
	/* CUDA never returned this device pointer. */
	return type == CU_MEMORYTYPE_DEVICE && !e->allocation ? CUDA_ERROR_INVALID_VALUE
							      : CUDA_SUCCESS;
}

static CUresult endpoints(const struct move *m, struct endpoint *to, struct endpoint *from)
{
	const CUDA_MEMCPY3D_PEER *c = &m->copy;
	return endpoint_fill(to, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
			     c->dstPitch ?: c->WidthInBytes, c->dstHeight ?: c->Height,
			     c->dstXInBytes, c->dstY, c->dstZ)
		       ?: m->is_set
			  ? CUDA_SUCCESS
			  : endpoint_fill(from, c->srcMemoryType, c->srcHost, c->srcDevice,
					  c->srcArray, c->srcPitch ?: c->WidthInBytes,
					  c->srcHeight ?: c->Height, c->srcXInBytes, c->srcY,
					  c->srcZ);
}

static bool endpoint_fits(const struct endpoint *e, const CUDA_MEMCPY3D_PEER *c)
{
	if (!e->allocation || !c->Height || !c->Depth)
		return true;
	size_t last = (c->Depth - 1) * e->slice + (c->Height - 1) * e->pitch + c->WidthInBytes;
	struct range *r = &e->allocation->range;
	if ((uintptr_t)e->base + last <= r->start + r->bytes)
		return true;
	/* A range of virtual memory may consist of several mappings. */
	return e->allocation->mapped_vmm || e->kind == SIM_MEMORY_PINNED;
}

CUresult move_describe(struct move *m, struct op_request *request)
{
	pthread_mutex_lock(&engine_lock);
	CUresult rc = move_describe_locked(m, request);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult move_describe_locked(struct move *m, struct op_request *request)
{
	struct endpoint to = { .side = SIDE_HOST }, from = { .side = SIDE_HOST };
	struct sim_op *d = &request->desc;
	double gbps;
	CUresult rc = endpoints(m, &to, &from);
	if (!rc &&
	    (!endpoint_fits(&to, &m->copy) || (!m->is_set && !endpoint_fits(&from, &m->copy))))
		rc = CUDA_ERROR_INVALID_VALUE;
	if (rc)
		return rc;
	d->bytes = m->copy.WidthInBytes * m->copy.Height * m->copy.Depth;
	d->address = (uintptr_t)to.base;
	if (m->is_set) {
		d->kind = SIM_OP_MEMSET;
		d->name = "memset";
		d->u.set.value = m->value;
		d->u.set.memory = to.kind;
		gbps = engine_settings.d2d_gbps;
	} else {
		d->kind = SIM_OP_COPY;
		d->u.copy.kind = copy_kinds[from.side][to.side];
		d->u.copy.src = from.kind;
		d->u.copy.dst = to.kind;
		gbps = to.side == SIDE_HOST	? engine_settings.d2h_gbps
		       : from.side == SIDE_HOST ? engine_settings.h2d_gbps
						: engine_settings.d2d_gbps;
		if (to.side && from.side && to.device != from.device) {
			d->kind = SIM_OP_PEER_COPY;
			d->u.copy.kind = 10;
			d->u.copy.src_device = from.device->ordinal;
			d->u.copy.dst_device = to.device->ordinal;
			d->u.copy.src_context =
				from.allocation->context ? from.allocation->context->id : 0;
			d->u.copy.dst_context = to.allocation->context ? to.allocation->context->id
								       : 0;
			gbps = engine_settings.p2p_gbps;
		}
	}
	request->duration_ns = engine_ns(SETUP_US + (double)d->bytes / (gbps * 1e3));
	return CUDA_SUCCESS;
}

/* ---- moving bytes ---- */

static bool simulated_bytes(enum sim_memory_kind kind)
{
	return kind == SIM_MEMORY_DEVICE || kind == SIM_MEMORY_ARRAY;
}

/* Copies one row. `result`: result of the kernel that was launched just before the copy. */
static void row_copy(char *to, enum sim_memory_kind to_kind, char *from,
		     enum sim_memory_kind from_kind, size_t bytes, uint64_t kernels,
		     const struct result *result)
{
	bool written = true;
	if (simulated_bytes(from_kind))
		written = extent_read(to, (uintptr_t)from, bytes, kernels);
	else
		memmove(to, from, bytes);
	if (!simulated_bytes(to_kind)) {
		if (!written && result->value >= 0 && bytes == result->bytes)
			memcpy(to, &result->value, bytes);
		return;
	}
	pthread_mutex_lock(&engine_lock);
	if (written)
		extent_write((uintptr_t)to, bytes, kernels);
	else
		extent_forget((uintptr_t)to, bytes);
	pthread_mutex_unlock(&engine_lock);
}

static void row_set(char *to, enum sim_memory_kind kind, unsigned value, size_t element,
		    size_t bytes, uint64_t kernels)
{
	/* Memory without an extent reads as zeros, so clearing device memory need not touch it. */
	bool clear = value == 0 && simulated_bytes(kind);
	if (!clear && (element == 1 || value == 0))
		memset(to, (int)value, bytes);
	else if (!clear && element == 2)
		for (size_t i = 0; i + 2 <= bytes; i += 2)
			memcpy(to + i, &(uint16_t){ (uint16_t)value }, 2);
	else if (!clear)
		for (size_t i = 0; i + 4 <= bytes; i += 4)
			memcpy(to + i, &(uint32_t){ value }, 4);
	if (!simulated_bytes(kind))
		return;
	pthread_mutex_lock(&engine_lock);
	if (clear)
		extent_forget((uintptr_t)to, bytes);
	else
		extent_write((uintptr_t)to, bytes, kernels);
	pthread_mutex_unlock(&engine_lock);
}

void move_run(void *arg)
{
	struct move *m = arg;
	struct endpoint to = { .side = SIDE_HOST }, from = { .side = SIDE_HOST };
	size_t width = m->copy.WidthInBytes, height = m->copy.Height, depth = m->copy.Depth;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = endpoints(m, &to, &from);
	pthread_mutex_unlock(&engine_lock);
	if (rc)
		return;
	uint64_t kernels = __atomic_load_n(&m->context->kernels, __ATOMIC_RELAXED);
	/* Rows that are adjacent on both sides are copied as one row. */
	if (to.pitch == width && (m->is_set || from.pitch == width)) {
		width *= height;
		height = 1;
		if (to.slice == width && (m->is_set || from.slice == width)) {
			width *= depth;
			depth = 1;
		}
	}
	for (size_t z = 0; z < depth; z++) {
		for (size_t y = 0; y < height; y++) {
			char *row = to.base + z * to.slice + y * to.pitch;
			if (m->is_set)
				row_set(row, to.kind, m->value, m->element, width, kernels);
			else
				row_copy(row, to.kind, from.base + z * from.slice + y * from.pitch,
					 from.kind, width, kernels, &m->result);
		}
	}
}

/* Returns how long the host waits, as described in "API synchronization behavior" of the CUDA
 * driver's manual. */
enum move_wait move_waits(const struct sim_op *d)
{
	if (d->kind == SIM_OP_MEMSET)
		return d->u.set.async || d->u.set.memory == SIM_MEMORY_DEVICE ? MOVE_NO_WAIT
									      : MOVE_WAIT_END;
	if (d->kind == SIM_OP_PEER_COPY)
		return MOVE_NO_WAIT;
	bool from_host = d->u.copy.src == SIM_MEMORY_PAGEABLE || d->u.copy.src == SIM_MEMORY_PINNED;
	bool to_host = d->u.copy.dst == SIM_MEMORY_PAGEABLE || d->u.copy.dst == SIM_MEMORY_PINNED;
	if (!from_host && !to_host)
		return MOVE_NO_WAIT;
	if (from_host && to_host)
		return d->u.copy.async && d->u.copy.src == SIM_MEMORY_PINNED &&
				       d->u.copy.dst == SIM_MEMORY_PINNED
			       ? MOVE_NO_WAIT
			       : MOVE_WAIT_END;
	if (from_host && d->u.copy.src == SIM_MEMORY_PAGEABLE && d->bytes <= STAGED_BYTES)
		return d->u.copy.async ? MOVE_NO_WAIT : MOVE_WAIT_START;
	if (!d->u.copy.async)
		return MOVE_WAIT_END;
	return d->u.copy.src == SIM_MEMORY_PAGEABLE || d->u.copy.dst == SIM_MEMORY_PAGEABLE
		       ? MOVE_WAIT_END
		       : MOVE_NO_WAIT;
}
