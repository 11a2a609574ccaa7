/*
 * The linker of device code (cuLink). The result is a cubin with the symbols of all inputs. Nothing
 * is compiled, so undefined symbols and other errors of the compiler do not occur. Runs on the
 * application's threads, without engine_lock.
 */
#include "test/sim/engine_image.h"

#define LINK_MAGIC 0x4c4e4b31u

struct link {
	uint32_t magic;
	struct image image;
	/* where the driver would write its messages */
	char *info, *error;
	void *cubin;
};

static struct link *link_checked(CUlinkState state)
{
	struct link *l = (struct link *)state;
	return l && l->magic == LINK_MAGIC ? l : NULL;
}

/* Empties the logs. The options that return a number return 0; the value of an option is a number
 * in place of a pointer. */
static void options_read(struct link *l, unsigned count, const CUjit_option *options, void **values)
{
	for (unsigned i = 0; i < count; i++) {
		if (options[i] == CU_JIT_INFO_LOG_BUFFER)
			l->info = values[i];
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			l->error = values[i];
		if (options[i] == CU_JIT_WALL_TIME ||
		    options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
		    options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			values[i] = NULL;
	}
	if (l->info)
		*l->info = 0;
	if (l->error)
		*l->error = 0;
}

CUresult sim_cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values, CUlinkState *out)
{
	struct context *c;
	CUresult rc = out ? engine_context_current(&c) : CUDA_ERROR_INVALID_VALUE;
	if (rc)
		return rc;
	struct link *l = calloc(1, sizeof(*l));
	l->magic = LINK_MAGIC;
	l->image.has_all = true;
	options_read(l, count, options, values);
	*out = (CUlinkState)l;
	return CUDA_SUCCESS;
}

CUresult sim_cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *out)
{
	return sim_cuLinkCreate_v2(count, options, values, out);
}

/* Adds an input: NUL follows its last byte. */
static CUresult input_add(struct link *l, CUjitInputType type, const void *data)
{
	struct image image;
	CUresult rc = image_read(data, &image);
	bool is_ptx = !rc && image.ptx_version && type == CU_JIT_INPUT_PTX;
	if (!rc && type == CU_JIT_INPUT_PTX && !is_ptx)
		rc = CUDA_ERROR_INVALID_PTX;
	if (!rc && type == CU_JIT_INPUT_CUBIN && !image.binary_version)
		rc = CUDA_ERROR_INVALID_IMAGE;
	if (!rc) {
		image_unpack(&image);
		image_merge(&l->image, &image);
	}
	image_free(&image);
	return rc;
}

CUresult sim_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t bytes,
			      const char *name, unsigned count, CUjit_option *options,
			      void **values)
{
	struct link *l = link_checked(state);
	(void)name, (void)count, (void)options, (void)values;
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || !bytes || type >= CU_JIT_NUM_INPUT_TYPES || l->cubin)
		return CUDA_ERROR_INVALID_VALUE;
	char *copy = calloc(1, bytes + sizeof(uint64_t));
	memcpy(copy, data, bytes);
	CUresult rc = input_add(l, type, copy);
	free(copy);
	return rc;
}

CUresult sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t bytes,
			   const char *name, unsigned count, CUjit_option *options, void **values)
{
	return sim_cuLinkAddData_v2(state, type, data, bytes, name, count, options, values);
}

CUresult sim_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
			      unsigned count, CUjit_option *options, void **values)
{
	size_t bytes;
	char *data = image_load(path, &bytes);
	if (!link_checked(state) || !data) {
		free(data);
		return data ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_FILE_NOT_FOUND;
	}
	CUresult rc = sim_cuLinkAddData_v2(state, type, data, bytes, path, count, options, values);
	free(data);
	return rc;
}

CUresult sim_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
			   CUjit_option *options, void **values)
{
	return sim_cuLinkAddFile_v2(state, type, path, count, options, values);
}

/* The cubin belongs to the state, and is freed with it. */
CUresult sim_cuLinkComplete(CUlinkState state, void **cubin, size_t *bytes)
{
	struct link *l = link_checked(state);
	size_t unused;
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!cubin)
		return CUDA_ERROR_INVALID_VALUE;
	free(l->cubin);
	*cubin = l->cubin = image_write(&l->image, bytes ?: &unused);
	return CUDA_SUCCESS;
}

CUresult sim_cuLinkDestroy(CUlinkState state)
{
	struct link *l = link_checked(state);
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	l->magic = 0;
	image_free(&l->image);
	free(l->cubin);
	free(l);
	return CUDA_SUCCESS;
}
