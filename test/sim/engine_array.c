/*
 * CUDA arrays and mipmaps, textures and surfaces. An array is pitched device memory with a handle.
 * Nothing reads through textures or surfaces.
 */
#include "test/sim/engine.h"

#define ARRAY_MAGIC 0x41525231u
#define PITCH_BYTES 512ul
#define MAX_LEVELS  16

struct mipmapped {
	uint32_t magic;
	unsigned count;
	struct array *levels[MAX_LEVELS];
};

struct array *array_checked(CUarray handle)
{
	struct array *a = (struct array *)handle;
	return a && a->magic == ARRAY_MAGIC ? a : NULL;
}

static size_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	switch (d->Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return d->NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2 * d->NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4 * d->NumChannels;
	default:
		return 0;
	}
}

CUresult sim_cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct context *c;
	struct allocation *memory;
	size_t element = d ? element_bytes(d) : 0;
	if (!array || !element || !d->Width ||
	    (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	struct array *a = calloc(1, sizeof(*a));
	a->magic = ARRAY_MAGIC;
	a->descriptor = *d;
	a->pitch = (d->Width * element + PITCH_BYTES - 1) & ~(PITCH_BYTES - 1);
	a->rows = d->Height ?: 1;
	a->layers = d->Depth ?: 1;
	CUresult rc = capture_unsafe();
	pthread_mutex_lock(&engine_lock);
	if (!rc)
		rc = engine_context_current(&c);
	if (!rc)
		rc = memory_allocate(c->device, SIM_MEMORY_DEVICE, a->pitch * a->rows * a->layers,
				     &memory);
	if (!rc)
		a->base = (char *)memory->range.start;
	pthread_mutex_unlock(&engine_lock);
	if (rc)
		free(a);
	else
		*array = (CUarray)a;
	return rc;
}

CUresult sim_cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_ARRAY3D_DESCRIPTOR three = { .Width = d->Width,
					  .Height = d->Height,
					  .Format = d->Format,
					  .NumChannels = d->NumChannels };
	return sim_cuArray3DCreate_v2(array, &three);
}

CUresult sim_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array)
{
	struct array *a = array_checked(array);
	if (!a || !d)
		return CUDA_ERROR_INVALID_HANDLE;
	*d = a->descriptor;
	return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *d, CUarray array)
{
	struct array *a = array_checked(array);
	if (!a || !d)
		return CUDA_ERROR_INVALID_HANDLE;
	*d = (CUDA_ARRAY_DESCRIPTOR){ .Width = a->descriptor.Width,
				      .Height = a->descriptor.Height,
				      .Format = a->descriptor.Format,
				      .NumChannels = a->descriptor.NumChannels };
	return CUDA_SUCCESS;
}

static CUresult array_destroy(struct array *a)
{
	struct context *c;
	CUresult rc = a ? engine_context_current(&c) : CUDA_ERROR_INVALID_HANDLE;
	if (rc)
		return rc;
	engine_context_wait(c);
	pthread_mutex_lock(&engine_lock);
	struct allocation *memory = memory_find(a->base);
	if (memory)
		memory_release(memory);
	a->magic = 0;
	pthread_mutex_unlock(&engine_lock);
	free(a);
	return CUDA_SUCCESS;
}

CUresult sim_cuArrayDestroy(CUarray array)
{
	struct array *a = array_checked(array);
	if (!array)
		return CUDA_SUCCESS;
	return a && a->owner ? CUDA_ERROR_INVALID_HANDLE : array_destroy(a);
}

CUresult sim_cuMipmappedArrayCreate(CUmipmappedArray *handle, const CUDA_ARRAY3D_DESCRIPTOR *d,
				    unsigned levels)
{
	if (!handle || !d || !levels || levels > MAX_LEVELS)
		return CUDA_ERROR_INVALID_VALUE;
	struct mipmapped *m = calloc(1, sizeof(*m));
	CUDA_ARRAY3D_DESCRIPTOR level = *d;
	CUresult rc = CUDA_SUCCESS;
	m->magic = ARRAY_MAGIC + 1;
	for (unsigned i = 0; i < levels && !rc; i++) {
		rc = sim_cuArray3DCreate_v2((CUarray *)&m->levels[i], &level);
		if (!rc)
			m->levels[i]->owner = m;
		m->count += !rc;
		level.Width = level.Width > 1 ? level.Width / 2 : 1;
		level.Height = level.Height > 1 ? level.Height / 2 : level.Height;
		level.Depth = level.Depth > 1 ? level.Depth / 2 : level.Depth;
	}
	*handle = (CUmipmappedArray)m;
	return rc;
}

CUresult sim_cuMipmappedArrayGetLevel(CUarray *array, CUmipmappedArray handle, unsigned level)
{
	struct mipmapped *m = (struct mipmapped *)handle;
	if (!m || m->magic != ARRAY_MAGIC + 1 || level >= m->count)
		return CUDA_ERROR_INVALID_VALUE;
	*array = (CUarray)m->levels[level];
	return CUDA_SUCCESS;
}

CUresult sim_cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
	struct mipmapped *m = (struct mipmapped *)handle;
	if (!m)
		return CUDA_SUCCESS;
	if (m->magic != ARRAY_MAGIC + 1)
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned i = 0; i < m->count; i++)
		array_destroy(m->levels[i]);
	m->magic = 0;
	free(m);
	return CUDA_SUCCESS;
}

/* The last texture or surface object. An object is only a number, because nothing reads through
 * it. */
static uint64_t last_object;

CUresult sim_cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
			       const CUDA_TEXTURE_DESC *texture,
			       const CUDA_RESOURCE_VIEW_DESC *view)
{
	(void)view;
	if (!object || !resource || !texture)
		return CUDA_ERROR_INVALID_VALUE;
	*object = __atomic_add_fetch(&last_object, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CUresult sim_cuTexObjectDestroy(CUtexObject object)
{
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource)
{
	if (!object || !resource)
		return CUDA_ERROR_INVALID_VALUE;
	*object = __atomic_add_fetch(&last_object, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

CUresult sim_cuSurfObjectDestroy(CUsurfObject object)
{
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
