/*
 * A library to preload that wraps CUDA functions, as libraries for GPU sharing and memory limits
 * do. At exit it prints how often each of its functions was called. Built in three forms:
 *   (default)   goes on by dlsym(RTLD_NEXT)
 *   BY_HANDLE   goes on by dlsym() of the CUDA library's handle
 *   BY_NAME     also replaces dlsym and cuGetProcAddress_v2; nothing but these leads to its
 *               functions for the driver, because it does not export them
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#ifdef BY_NAME
#define DRIVER static
#else
#define DRIVER EXPORT
#endif
#if defined(__x86_64__)
#define GLIBC "GLIBC_2.2.5"
#else
#define GLIBC "GLIBC_2.17"
#endif

static unsigned n_malloc, n_memcpy, n_alloc, n_launch, n_get;

__attribute__((destructor)) static void report(void)
{
	printf("interposer: cudaMalloc %u, cudaMemcpy %u, cuMemAlloc %u, cuLaunchKernel %u, "
	       "cuGetProcAddress %s\n",
	       n_malloc, n_memcpy, n_alloc, n_launch, n_get ? "called" : "not called");
}

#ifdef BY_NAME
static void *real_dlsym(void *handle, const char *name)
{
	static void *(*real)(void *, const char *);
	if (!real)
		real = (__typeof__(real))dlvsym(RTLD_NEXT, "dlsym", GLIBC);
	return real(handle, name);
}
#else
#define real_dlsym dlsym
#endif

static void *go_on(const char *library, const char *name)
{
	void *handle = RTLD_NEXT;
	(void)library;
#if defined(BY_HANDLE) || defined(BY_NAME)
	handle = dlopen(library, RTLD_NOW);
#endif
	void *found = real_dlsym(handle, name);
	if (!found) {
		fprintf(stderr, "interposer: no %s\n", name);
		exit(3);
	}
	return found;
}

#define NEXT(library, function)            \
	static __typeof__(&function) next; \
	if (!next)                         \
	next = (__typeof__(next))go_on(library, #function)

EXPORT cudaError_t cudaMalloc(void **p, size_t bytes)
{
	NEXT("libcudart.so.13", cudaMalloc);
	n_malloc++;
	return next(p, bytes);
}

EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	NEXT("libcudart.so.13", cudaMemcpy);
	n_memcpy++;
	return next(to, from, bytes, kind);
}

#undef cuMemAlloc
#define cuMemAlloc_v2 wrapped_cuMemAlloc_v2
DRIVER CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes) __asm__("cuMemAlloc_v2");
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
	static __typeof__(&cuMemAlloc_v2) next;
	if (!next)
		next = (__typeof__(next))go_on("libcuda.so.1", "cuMemAlloc_v2");
	n_alloc++;
	return next(p, bytes);
}

DRIVER CUresult cuLaunchKernel_(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
				unsigned by, unsigned bz, unsigned shared, CUstream stream,
				void **parameters, void **extra) __asm__("cuLaunchKernel");
CUresult cuLaunchKernel_(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			 unsigned by, unsigned bz, unsigned shared, CUstream stream,
			 void **parameters, void **extra)
{
	static __typeof__(&cuLaunchKernel_) next;
	if (!next)
		next = (__typeof__(next))go_on("libcuda.so.1", "cuLaunchKernel");
	n_launch++;
	return next(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

#ifdef BY_NAME
static CUresult get_address(const char *name, void **function, int version, cuuint64_t flags,
			    CUdriverProcAddressQueryResult *status)
{
	static __typeof__(&get_address) next;
	if (!next)
		next = (__typeof__(next))go_on("libcuda.so.1", "cuGetProcAddress_v2");
	n_get++;
	CUresult error = next(name, function, version, flags, status);
	if (!error && !strcmp(name, "cuMemAlloc"))
		*function = (void *)cuMemAlloc_v2;
	if (!error && !strcmp(name, "cuLaunchKernel") && !flags)
		*function = (void *)cuLaunchKernel_;
	return error;
}

EXPORT void *dlsym(void *handle, const char *name);
EXPORT void *dlsym(void *handle, const char *name)
{
	void *found = real_dlsym(handle, name);
	if (!found || handle == RTLD_NEXT)
		return found;
	if (!strcmp(name, "cudaMalloc"))
		return (void *)cudaMalloc;
	if (!strcmp(name, "cuMemAlloc_v2"))
		return (void *)cuMemAlloc_v2;
	if (!strcmp(name, "cuLaunchKernel"))
		return (void *)cuLaunchKernel_;
	return strcmp(name, "cuGetProcAddress_v2") ? found : (void *)get_address;
}
#endif
