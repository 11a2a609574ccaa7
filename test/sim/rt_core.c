/*
 * The runtime's foundation: loads the driver, opens and closes frames, keeps errors and the current
 * device. See rt.h.
 */
#include "test/sim/rt.h"

#include <dlfcn.h>
#include <stdio.h>

struct rt_driver rt_driver[2];
const struct sim_tools *rt_tools;

static __thread struct rt_thread self;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t load_status = cudaErrorInsufficientDriver;
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

struct rt_thread *rt_thread(void)
{
	return &self;
}

static const struct {
	size_t offset;
	const char *base;
	int version;
} wanted[] = {
#define CALL(symbol, base, version) { offsetof(struct rt_driver, symbol), base, version },
#include "driver_calls.def"
#undef CALL
};

static void load_once(void)
{
	const void *tools;
	__typeof__(&cuGetProcAddress_v2) find;
	CUdriverProcAddressQueryResult found;
	CUuuid id;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver)
		return;
	*(void **)&find = dlsym(driver, "cuGetProcAddress_v2");
	if (!find)
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		for (int per_thread = 0; per_thread < 2; per_thread++)
			find(wanted[i].base,
			     (void **)((char *)&rt_driver[per_thread] + wanted[i].offset),
			     wanted[i].version, per_thread ? 2 : 0, &found);
	memcpy(id.bytes, SIM_TOOLS_UUID, sizeof(id.bytes));
	if (!rt_driver[0].cuGetExportTable || rt_driver[0].cuGetExportTable(&tools, &id))
		return;
	load_status = RT(rt_driver[0].cuInit(0));
	__atomic_store_n(&rt_tools, tools, __ATOMIC_RELEASE);
}

cudaError_t rt_load(void)
{
	pthread_once(&once, load_once);
	return load_status;
}

cudaError_t rt_enter(struct sim_frame *frame, bool per_thread)
{
	frame->runtime_per_thread = self.per_thread;
	self.per_thread = per_thread;
	if (SIM_UNLIKELY(!rt_tools))
		rt_load();
	return rt_tools ? RT(rt_tools->enter(frame, false)) : cudaSuccess;
}

cudaError_t rt_leave(struct sim_frame *frame, cudaError_t status)
{
	if (rt_tools)
		rt_tools->leave(frame, status);
	self.per_thread = frame->runtime_per_thread;
	/* cudaGetLastError and cudaPeekAtLastError (10, 11) return an earlier error but do not
	 * fail */
	if (SIM_UNLIKELY(status) && frame->cbid != 10 && frame->cbid != 11)
		self.last_error = status;
	return status;
}

cudaError_t rt_missing(const char *name)
{
	static struct sim_said said;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	bool is_new = sim_say_once(&said, name);
	pthread_mutex_unlock(&lock);
	if (is_new)
		sim_log("%s is not simulated", name);
	return cudaErrorNotSupported;
}

static cudaError_t context_make(int device)
{
	static CUcontext primary[64];
	CUcontext context;
	pthread_mutex_lock(&primary_lock);
	cudaError_t rc = RT(DRV(cuDevicePrimaryCtxRetain)(&context, device));
	/* The thread needs one reference only; a second one would survive a reset. */
	if (!rc && primary[device] == context)
		DRV(cuDevicePrimaryCtxRelease_v2)(device);
	if (!rc)
		primary[device] = context;
	pthread_mutex_unlock(&primary_lock);
	return rc ?: RT(DRV(cuCtxSetCurrent)(context));
}

cudaError_t rt_context(void)
{
	if (rt_tools && rt_tools->current())
		return cudaSuccess;
	return rt_load() ?: context_make(self.device);
}

/* ---- errors ---- */

cudaError_t rt_cudaGetLastError(void)
{
	cudaError_t error = self.last_error;
	self.last_error = cudaSuccess;
	return error;
}

cudaError_t rt_cudaPeekAtLastError(void)
{
	return self.last_error;
}

const char *rt_cudaGetErrorName(cudaError_t error)
{
	return sim_error_name(true, error) ?: "unrecognized error code";
}

const char *rt_cudaGetErrorString(cudaError_t error)
{
	return sim_error_name(true, error) ? sim_error_text(error) : "unrecognized error code";
}

/* ---- devices ---- */

cudaError_t rt_cudaGetDeviceCount(int *count)
{
	cudaError_t rc = rt_load();
	if (!count)
		return cudaErrorInvalidValue;
	*count = 0;
	return rc ?: RT(DRV(cuDeviceGetCount)(count));
}

cudaError_t rt_cudaGetDevice(int *device)
{
	int current = rt_tools ? rt_tools->current_device() : -1;
	if (current >= 0) {
		*device = current;
		return cudaSuccess;
	}
	*device = self.device;
	return rt_tools ? cudaSuccess : rt_load();
}

cudaError_t rt_cudaSetDevice(int device)
{
	int count;
	cudaError_t rc = rt_cudaGetDeviceCount(&count);
	if (rc)
		return rc;
	if (device < 0 || device >= count)
		return cudaErrorInvalidDevice;
	self.device = device;
	return rt_tools->current_device() == device ? cudaSuccess : context_make(device);
}

cudaError_t rt_cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
	CUcontext context;
	int count;
	(void)flags;
	cudaError_t rc = rt_cudaGetDeviceCount(&count);
	if (rc)
		return rc;
	if (device < 0 || device >= count)
		return cudaErrorInvalidDevice;
	DRV(cuDevicePrimaryCtxSetFlags_v2)(device, device_flags);
	rc = RT(DRV(cuCtxGetCurrent)(&context)) ?: context_make(device);
	return rc ?: RT(DRV(cuCtxSetCurrent)(context));
}

cudaError_t rt_cudaSetDeviceFlags(unsigned flags)
{
	int device;
	cudaError_t rc = rt_load() ?: rt_cudaGetDevice(&device);
	return rc ?: RT(DRV(cuDevicePrimaryCtxSetFlags_v2)(device, flags & 31));
}

cudaError_t rt_cudaGetDeviceFlags(unsigned *flags)
{
	int device, active;
	cudaError_t rc = rt_load() ?: rt_cudaGetDevice(&device);
	return rc ?: RT(DRV(cuDevicePrimaryCtxGetState)(device, flags, &active));
}

cudaError_t rt_cudaSetValidDevices(int *devices, int count)
{
	return count >= 0 && (devices || !count) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t rt_cudaDeviceReset(void)
{
	int device;
	cudaError_t rc = rt_load() ?: rt_cudaGetDevice(&device);
	self.last_error = cudaSuccess;
	return rc ?: RT(DRV(cuDevicePrimaryCtxReset_v2)(device));
}

cudaError_t rt_cudaDriverGetVersion(int *version)
{
	cudaError_t rc = rt_load();
	*version = 0;
	/* without a driver this call succeeds and returns 0 */
	return rc == cudaErrorInsufficientDriver ? cudaSuccess
						 : RT(DRV(cuDriverGetVersion)(version));
}

cudaError_t rt_cudaRuntimeGetVersion(int *version)
{
	*version = RT_VERSION;
	return cudaSuccess;
}

cudaError_t rt_cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
	return rt_load() ?: RT(DRV(cuGetExportTable)(table, (const CUuuid *)id));
}

cudaError_t rt_cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
						unsigned version, unsigned long long flags,
						enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cudaError_t rc = rt_load();
	if (rc && !rt_tools)
		return rc;
	/* if the flags leave it open, the caller's own default-stream mode decides */
	if (flags == cudaEnableDefault && self.per_thread)
		flags = cudaEnablePerThreadDefaultStream;
	rc = RT(DRV(cuGetProcAddress_v2)(symbol, function, (int)version, flags, &found));
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	/* if the caller gets a status, a missing symbol is not an error */
	return rc == cudaErrorSymbolNotFound && status ? cudaSuccess : rc;
}

cudaError_t rt_cudaGetDriverEntryPoint(const char *symbol, void **function,
				       unsigned long long flags,
				       enum cudaDriverEntryPointQueryResult *status)
{
	return rt_cudaGetDriverEntryPointByVersion(symbol, function, RT_VERSION, flags, status);
}
