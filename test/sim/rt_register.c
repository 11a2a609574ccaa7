/*
 * What nvcc's start-up code registers: fat binaries, kernels, variables. The driver is not called
 * until a kernel or a variable is used. A hash table finds kernels by their host address, because
 * PyTorch registers 24,000 of them.
 */
#include "test/sim/rt.h"

struct fatbin {
	const void *image;
	CUlibrary library;
};

struct symbol {
	const void *host;
	struct fatbin *owner;
	const char *name;
	size_t bytes;
	bool variable, managed;
	CUkernel kernel;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct symbol **slots;
static size_t slot_count, symbol_count;

static size_t slot_of(const void *host)
{
	return ((uintptr_t)host >> 3) * 0x9E3779B97F4A7C15ull >> 20 & (slot_count - 1);
}

static struct symbol *symbol_find(const void *host)
{
	if (!slot_count)
		return NULL;
	for (size_t i = slot_of(host); slots[i]; i = (i + 1) & (slot_count - 1))
		if (slots[i]->host == host)
			return slots[i];
	return NULL;
}

static void slots_grow(void)
{
	struct symbol **old = slots;
	size_t old_count = slot_count;
	slot_count = slot_count ? slot_count * 2 : 1024;
	slots = calloc(slot_count, sizeof(*slots));
	for (size_t i = 0; i < old_count; i++) {
		if (!old[i])
			continue;
		size_t at = slot_of(old[i]->host);
		while (slots[at])
			at = (at + 1) & (slot_count - 1);
		slots[at] = old[i];
	}
	free(old);
}

static void symbol_add(struct fatbin *owner, const void *host, const char *name, size_t bytes,
		       bool variable, bool managed)
{
	pthread_mutex_lock(&lock);
	struct symbol *s = symbol_find(host);
	if (!s) {
		if (2 * ++symbol_count > slot_count)
			slots_grow();
		size_t at = slot_of(host);
		while (slots[at])
			at = (at + 1) & (slot_count - 1);
		s = slots[at] = malloc(sizeof(*s));
	}
	*s = (struct symbol){ .host = host, .owner = owner, .name = name, .bytes = bytes };
	s->variable = variable;
	s->managed = managed;
	pthread_mutex_unlock(&lock);
}

/* Loads a library. Call without the lock, because a profiler may have wrapped the driver's
 * functions. */
static cudaError_t library_load(struct fatbin *f)
{
	CUlibrary library;
	if (__atomic_load_n(&f->library, __ATOMIC_ACQUIRE))
		return cudaSuccess;
	cudaError_t rc =
		RT(DRV(cuLibraryLoadData)(&library, f->image, NULL, NULL, 0, NULL, NULL, 0));
	if (rc)
		return rc;
	CUlibrary none = NULL;
	if (!__atomic_compare_exchange_n(&f->library, &none, library, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		DRV(cuLibraryUnload)(library);
	return cudaSuccess;
}

cudaError_t rt_function(const void *function, CUfunction *handle)
{
	pthread_mutex_lock(&lock);
	struct symbol *s = symbol_find(function);
	CUkernel kernel = s ? s->kernel : NULL;
	pthread_mutex_unlock(&lock);
	/* If `function` is not a registered stub, it is a cudaKernel_t or a cudaFunction_t. */
	if (!s || s->variable) {
		*handle = (CUfunction)function;
		return function && !s ? cudaSuccess : cudaErrorInvalidDeviceFunction;
	}
	cudaError_t rc = cudaSuccess;
	if (!kernel)
		rc = rt_load() ?: library_load(s->owner) ?:
			     RT(DRV(cuLibraryGetKernel)(&kernel, s->owner->library, s->name));
	if (!rc)
		s->kernel = kernel;
	*handle = (CUfunction)kernel;
	return rc;
}

cudaError_t rt_symbol(const void *symbol, CUdeviceptr *address, size_t *bytes)
{
	pthread_mutex_lock(&lock);
	struct symbol *s = symbol_find(symbol);
	pthread_mutex_unlock(&lock);
	if (!s || !s->variable)
		return cudaErrorInvalidSymbol;
	if (s->managed) {
		*address = (CUdeviceptr) * (void *const *)s->host;
		*bytes = s->bytes;
		return cudaSuccess;
	}
	cudaError_t rc = rt_context() ?: library_load(s->owner);
	if (rc)
		return rc;
	rt_tools->variable_declare(s->owner->library, s->name, s->bytes);
	rc = RT(DRV(cuLibraryGetGlobal)(address, bytes, s->owner->library, s->name));
	*bytes = s->bytes;
	return rc;
}

/* ---- the entry points of crt/host_runtime.h ---- */

SIM_EXPORT void **__cudaRegisterFatBinary(void *image);
SIM_EXPORT void **__cudaRegisterFatBinary(void *image)
{
	struct fatbin *f = calloc(1, sizeof(*f));
	f->image = image;
	return (void **)f;
}

SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

/* Runs in destructors, when the kernels' stubs may already be unmapped. Only removes them from the
 * table. */
SIM_EXPORT void __cudaUnregisterFatBinary(void **handle);
SIM_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	struct fatbin *f = (struct fatbin *)handle;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < slot_count; i++)
		if (slots[i] && slots[i]->owner == f)
			slots[i]->host = NULL;
	pthread_mutex_unlock(&lock);
}

SIM_EXPORT char __cudaInitModule(void **handle);
SIM_EXPORT char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

SIM_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device_stub,
				       const char *name, int thread_limit, void *tid, void *bid,
				       void *block, void *grid, int *warp_size);
SIM_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device_stub,
				       const char *name, int thread_limit, void *tid, void *bid,
				       void *block, void *grid, int *warp_size)
{
	(void)device_stub, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid,
		(void)warp_size;
	symbol_add((struct fatbin *)handle, host, name, 0, false, false);
}

SIM_EXPORT void __cudaRegisterVar(void **handle, char *host, char *address, const char *name,
				  int external, size_t bytes, int constant, int global);
SIM_EXPORT void __cudaRegisterVar(void **handle, char *host, char *address, const char *name,
				  int external, size_t bytes, int constant, int global)
{
	(void)address, (void)external, (void)constant, (void)global;
	symbol_add((struct fatbin *)handle, host, name, bytes, true, false);
}

SIM_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *address,
					 const char *name, int external, size_t bytes, int constant,
					 int global);
SIM_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *address,
					 const char *name, int external, size_t bytes, int constant,
					 int global)
{
	(void)address, (void)external, (void)constant, (void)global;
	/*
	 * The host reads *host before it makes any call. The variable is therefore plain memory,
	 * which copies then treat as pageable.
	 */
	*host = calloc(1, bytes);
	symbol_add((struct fatbin *)handle, host, name, bytes, true, true);
}

SIM_EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes);
SIM_EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes)
{
	(void)handle, (void)name, (void)host, (void)bytes;
}

SIM_EXPORT void __cudaRegisterUnifiedTable(void **handle, void *table);
SIM_EXPORT void __cudaRegisterUnifiedTable(void **handle, void *table)
{
	(void)handle, (void)table;
}

SIM_EXPORT CUresult __cudaGetProcAddress(const char *symbol, void **function, int version,
					 cuuint64_t flags, CUdriverProcAddressQueryResult *status);
SIM_EXPORT CUresult __cudaGetProcAddress(const char *symbol, void **function, int version,
					 cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	cudaError_t rc = rt_load();
	return rc ? (CUresult)rc
		  : rt_driver[0].cuGetProcAddress_v2(symbol, function, version, flags, status);
}

/* Returns the stub's own address as the handle that nvcc's stubs launch. The launch looks the
 * address up. */
cudaError_t rt___cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	*kernel = (cudaKernel_t)function;
	return function ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t rt_cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	return rt_context() ?: rt_function(function, (CUfunction *)kernel);
}

cudaError_t rt_cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
	return rt_context() ?: rt_function(symbol, (CUfunction *)function);
}

cudaError_t rt_cudaGetSymbolAddress(void **address, const void *symbol)
{
	size_t bytes;
	return rt_symbol(symbol, (CUdeviceptr *)address, &bytes);
}

cudaError_t rt_cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
	CUdeviceptr address;
	return rt_symbol(symbol, &address, bytes);
}
