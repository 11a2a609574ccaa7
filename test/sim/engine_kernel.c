/*
 * Modules, libraries and kernels. A kernel is only a name. Runs on the application's threads.
 */
#include "test/sim/engine_image.h"

#include <ctype.h>
#include <stdio.h>

struct variable {
	struct variable *next;
	char *name;
	struct allocation *allocation;
};

struct module {
	uint32_t magic;
	bool is_library;
	struct context *context;
	struct kernel *kernels;
	struct variable *variables;
	unsigned kernel_count;
	struct image image;
};
#define MODULE_MAGIC 0x4d4f4431u
/* size of a variable if the image cannot be read */
#define VARIABLE_BYTES 4096

#define NAME_BUCKETS 65536
struct name {
	struct name *next;
	int64_t duration_ns;
	struct result result;
	char text[];
};
static struct name *names[NAME_BUCKETS];

/*
 * Searches `rows` (TEXT=NUMBER[:BYTES],...) for the first TEXT that is part of the name. Returns
 * its NUMBER and sets `bytes`; returns -1 if there is no such TEXT.
 */
static double number_set(const char *rows, const char *name, unsigned *bytes)
{
	char part[256];
	const char *at = rows;
	double number;
	for (int n = 0; sscanf(at, "%255[^=]=%lf%n", part, &number, &n) == 2; n = 0) {
		at += n;
		*bytes = *at == ':' ? (unsigned)strtoul(at + 1, (char **)&at, 10) : 1;
		if (number >= 0 && strstr(name, part))
			return number;
		if (*at++ != ',')
			break;
	}
	return -1;
}

/*
 * Returns the kernel's duration in ns: from PROFSIM_KERNEL_TIMES, or else from "_<N>us" anywhere in
 * its name (which may be mangled). Returns -1 if neither has one.
 */
static int64_t duration_parse(const char *name)
{
	unsigned unused;
	double set_us = number_set(engine_settings.kernel_times, name, &unused);
	if (set_us >= 0)
		return engine_ns(set_us);
	for (const char *p = strchr(name, '_'); p; p = strchr(p + 1, '_')) {
		const char *q = p + 1;
		while (isdigit((unsigned char)*q))
			q++;
		if (q > p + 1 && q[0] == 'u' && q[1] == 's')
			return engine_ns(strtod(p + 1, NULL));
	}
	return -1;
}

/* Stores a name and returns its entry. Names are never freed, because CUPTI's records point to
 * them. Requires engine_lock. */
static struct name *name_intern(const char *text)
{
	uint32_t hash = 2166136261u;
	for (const char *p = text; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	struct name **bucket = &names[hash % NAME_BUCKETS];
	for (struct name *n = *bucket; n; n = n->next)
		if (!strcmp(n->text, text))
			return n;
	size_t length = strlen(text) + 1;
	struct name *n = malloc(sizeof(*n) + length);
	memcpy(n->text, text, length);
	n->duration_ns = duration_parse(text);
	n->result.value =
		(int64_t)number_set(engine_settings.kernel_results, text, &n->result.bytes);
	n->next = *bucket;
	*bucket = n;
	return n;
}

struct kernel *kernel_checked(const void *handle)
{
	struct kernel *k = (struct kernel *)handle;
	return k && !((uintptr_t)k & 7) && k->magic == KERNEL_MAGIC ? k : NULL;
}

static struct module *module_checked(const void *handle)
{
	struct module *m = (struct module *)handle;
	return m && m->magic == MODULE_MAGIC ? m : NULL;
}

static CUresult module_create(bool is_library, const void *code, void **out)
{
	struct context *c = NULL;
	struct image image;
	CUresult rc = is_library ? engine_init_check() : engine_context_current(&c);
	if (!rc)
		rc = image_read(code, &image);
	if (rc)
		return rc;
	struct module *m = calloc(1, sizeof(*m));
	m->magic = MODULE_MAGIC;
	m->is_library = is_library;
	m->context = c;
	m->image = image;
	if (!is_library) /* of a library, whose kernels nvcc has registered, only on demand */
		image_unpack(&m->image);
	*out = m;
	return CUDA_SUCCESS;
}

static CUresult module_from_file(bool is_library, const char *file, void **out)
{
	size_t bytes;
	char *code = image_load(file, &bytes);
	CUresult rc = code ? module_create(is_library, code, out) : CUDA_ERROR_FILE_NOT_FOUND;
	free(code);
	return rc;
}

static CUresult module_kernel(struct module *m, const char *name, void **out)
{
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!name || !*name || !out)
		return CUDA_ERROR_INVALID_VALUE;
	if (m->image.has_all && !m->image.is_text && !image_find(&m->image, name, true))
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&engine_lock);
	struct name *n = name_intern(name);
	struct kernel *k = m->kernels;
	while (k && k->name != n->text)
		k = k->next;
	if (!k) {
		k = calloc(1, sizeof(*k));
		k->magic = KERNEL_MAGIC;
		k->name = n->text;
		k->duration_ns = n->duration_ns;
		k->result = n->result;
		k->module = m;
		k->next = m->kernels;
		k->attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
		k->attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32;
		k->attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = m->image.ptx_version
								       ?: image_device();
		k->attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = m->image.binary_version
									  ?: image_device();
		k->attributes[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
		k->attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152;
		k->block[0] = k->block[1] = k->block[2] = 1;
		m->kernels = k;
		m->kernel_count++;
	}
	pthread_mutex_unlock(&engine_lock);
	*out = k;
	return CUDA_SUCCESS;
}

/* Unloads a module. Keeps its kernels, because launches and records may still use them. */
static CUresult module_unload(struct module *m)
{
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&engine_lock);
	m->magic = 0;
	for (struct variable *v = m->variables, *next; v; v = next) {
		next = v->next;
		memory_release(v->allocation);
		free(v->name);
		free(v);
	}
	m->variables = NULL;
	image_free(&m->image);
	pthread_mutex_unlock(&engine_lock);
	return CUDA_SUCCESS;
}

/* Finds or creates a variable. Requires engine_lock. */
static CUresult variable_find(struct module *m, const char *name, size_t bytes,
			      struct variable **out)
{
	struct context *c;
	struct allocation *a;
	struct variable *v = m->variables;
	while (v && strcmp(v->name, name))
		v = v->next;
	CUresult rc = v ? CUDA_SUCCESS : engine_context_current(&c);
	if (!v && !rc)
		rc = memory_allocate(c->device, SIM_MEMORY_DEVICE, bytes, &a);
	if (!v && !rc) {
		v = malloc(sizeof(*v));
		*v = (struct variable){ .next = m->variables,
					.name = strdup(name),
					.allocation = a };
		m->variables = v;
		/* the variable is freed with its module, not with the context */
		a->context = NULL;
	}
	*out = v;
	return rc;
}

int engine_variable_declare(void *library, const char *name, size_t bytes)
{
	struct module *m = module_checked(library);
	struct variable *v;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&engine_lock);
	CUresult rc = variable_find(m, name, bytes ?: 1, &v);
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

static CUresult module_variable(struct module *m, const char *name, CUdeviceptr *address,
				size_t *bytes)
{
	struct variable *v;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	image_unpack(&m->image);
	pthread_mutex_lock(&engine_lock);
	const struct image_symbol *s = image_find(&m->image, name, false);
	CUresult rc = m->image.has_all && !s
			      ? CUDA_ERROR_NOT_FOUND
			      : variable_find(m, name, s ? s->bytes : VARIABLE_BYTES, &v);
	if (!rc && address)
		*address = v->allocation->range.start;
	if (!rc && bytes)
		*bytes = v->allocation->range.bytes;
	pthread_mutex_unlock(&engine_lock);
	return rc;
}

CUresult sim_cuModuleLoad(CUmodule *module, const char *file)
{
	return module_from_file(false, file, (void **)module);
}

CUresult sim_cuModuleLoadData(CUmodule *module, const void *image)
{
	return image ? module_create(false, image, (void **)module) : CUDA_ERROR_INVALID_IMAGE;
}

CUresult sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
				CUjit_option *options, void **values)
{
	(void)count, (void)options, (void)values;
	return sim_cuModuleLoadData(module, image);
}

CUresult sim_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return sim_cuModuleLoadData(module, image);
}

CUresult sim_cuModuleUnload(CUmodule module)
{
	return module_unload(module_checked(module));
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	return module_kernel(module_checked(module), name, (void **)function);
}

CUresult sim_cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
	struct module *m = module_checked(module);
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	*count = m->kernel_count;
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module,
				  const char *name)
{
	return module_variable(module_checked(module), name, address, bytes);
}

CUresult sim_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
			       void **jit_values, unsigned jit_count, CUlibraryOption *options,
			       void **values, unsigned count)
{
	(void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
	return code ? module_create(true, code, (void **)library) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *library, const char *file, CUjit_option *jit,
				   void **jit_values, unsigned jit_count, CUlibraryOption *options,
				   void **values, unsigned count)
{
	(void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
	return module_from_file(true, file, (void **)library);
}

CUresult sim_cuLibraryUnload(CUlibrary library)
{
	return module_unload(module_checked(library));
}

CUresult sim_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	return module_kernel(module_checked(library), name, (void **)kernel);
}

CUresult sim_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	*module = (CUmodule)library;
	return module_checked(library) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
	return sim_cuModuleGetFunctionCount(count, (CUmodule)library);
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library,
				const char *name)
{
	return module_variable(module_checked(library), name, address, bytes);
}

CUresult sim_cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library,
				 const char *name)
{
	return module_variable(module_checked(library), name, address, bytes);
}

CUresult sim_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	*function = (CUfunction)kernel;
	return kernel_checked(kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	struct kernel *k = kernel_checked(kernel);
	*library = k ? (CUlibrary)k->module : NULL;
	return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuKernelGetName(const char **name, CUkernel kernel)
{
	struct kernel *k = kernel_checked(kernel);
	*name = k ? k->name : NULL;
	return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncGetName(const char **name, CUfunction function)
{
	return sim_cuKernelGetName(name, (CUkernel)function);
}

CUresult sim_cuFuncGetModule(CUmodule *module, CUfunction function)
{
	return sim_cuKernelGetLibrary((CUlibrary *)module, (CUkernel)function);
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return kernel_checked(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncLoad(CUfunction function)
{
	return kernel_checked(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult attribute_get(int *value, CUfunction_attribute attribute, const void *handle)
{
	struct kernel *k = kernel_checked(handle);
	if (!k)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((unsigned)attribute >= sizeof(k->attributes) / sizeof(*k->attributes))
		return CUDA_ERROR_INVALID_VALUE;
	*value = k->attributes[attribute];
	return CUDA_SUCCESS;
}

static CUresult attribute_set(const void *handle, CUfunction_attribute attribute, int value)
{
	struct kernel *k = kernel_checked(handle);
	if (!k)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((unsigned)attribute >= sizeof(k->attributes) / sizeof(*k->attributes))
		return CUDA_ERROR_INVALID_VALUE;
	k->attributes[attribute] = value;
	return CUDA_SUCCESS;
}

CUresult sim_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	return attribute_get(value, attribute, function);
}

CUresult sim_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	return attribute_set(function, attribute, value);
}

CUresult sim_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
				  CUdevice device)
{
	(void)device;
	return attribute_get(value, attribute, kernel);
}

CUresult sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
				  CUdevice device)
{
	(void)device;
	return attribute_set(kernel, attribute, value);
}

CUresult sim_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	(void)config;
	return kernel_checked(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	(void)config, (void)device;
	return kernel_checked(kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config)
{
	(void)config;
	return kernel_checked(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
