/*
 * See devices.h. The functions call the driver directly, not through this library's wrappers. No
 * function of the driver that is called here needs a context or changes the runtime's last error.
 */
#include "preload/devices.h"

#include "preload/hook.h"
#include "preload/lookup.h"
#include "preload/used.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

#undef cuDeviceTotalMem

static atomic_bool described;

static struct {
	CUresult (*count)(int *);
	CUresult (*get)(CUdevice *, int);
	CUresult (*name)(char *, int, CUdevice);
	CUresult (*memory)(size_t *, CUdevice);
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
} driver;

/* Returns a handle of the driver, NULL if it is not loaded. */
static void *open_driver(void)
{
	return used_driver_is_mapped() ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static bool find_driver(void)
{
	void *handle = open_driver();
	if (!handle) {
		lookup_forget_error();
		return false;
	}
	driver.count = (__typeof__(driver.count))lookup_dlsym(handle, "cuDeviceGetCount");
	driver.get = (__typeof__(driver.get))lookup_dlsym(handle, "cuDeviceGet");
	driver.name = (__typeof__(driver.name))lookup_dlsym(handle, "cuDeviceGetName");
	driver.memory = (__typeof__(driver.memory))lookup_dlsym(handle, "cuDeviceTotalMem_v2");
	driver.attribute =
		(__typeof__(driver.attribute))lookup_dlsym(handle, "cuDeviceGetAttribute");
	return driver.count && driver.get && driver.name && driver.memory && driver.attribute;
}

static void describe(int number)
{
	struct dict_device record = { .head.kind = DICT_DEVICE, .id = (uint32_t)number };
	CUdevice device;
	size_t bytes = 0;
	int multiprocessors = 0, major = 0, minor = 0;
	if (driver.get(&device, number) || driver.name(record.name, sizeof(record.name), device))
		return;
	driver.memory(&bytes, device);
	driver.attribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	driver.attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	driver.attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	record.memory_bytes = bytes;
	record.multiprocessors = (uint32_t)multiprocessors;
	record.compute_major = (uint32_t)major;
	record.compute_minor = (uint32_t)minor;
	journal_put(&record.head, sizeof(record), NULL);
}

bool devices_describe(void)
{
	int count = 0;
	if (atomic_load(&described))
		return true;
	if (!find_driver() || driver.count(&count))
		return false;
	if (atomic_exchange(&described, true))
		return true;
	for (int i = 0; i < count; i++)
		describe(i);
	return true;
}

/* Returns the driver's function; NULL: there is none. Looks it up once. */
static void *find_function(_Atomic(void *) *cached, const char *name)
{
	void *find = atomic_load_explicit(cached, memory_order_relaxed);
	if (!find) {
		void *handle = open_driver();
		find = handle ? lookup_dlsym(handle, name) : NULL;
		atomic_store_explicit(cached, find, memory_order_relaxed);
	}
	return find;
}

int devices_current(void)
{
	typedef CUresult get_device(CUdevice *);
	static _Atomic(void *) cached;
	get_device *find = (get_device *)find_function(&cached, "cuCtxGetDevice");
	CUdevice device = -1;
	return find && !find(&device) ? (int)device : -1;
}

enum { CONTEXTS = 63 }; /* struct rec_call has 6 bits for the number */

/* Handles of the contexts that the program created. The number n is at n - 1. */
static _Atomic(void *) contexts[CONTEXTS];
static atomic_uint n_contexts;

void devices_number_context(void *context)
{
	/* the driver may use the address of a destroyed context again */
	for (size_t i = 0; i < CONTEXTS; i++) {
		void *handle = context;
		atomic_compare_exchange_strong(&contexts[i], &handle, NULL);
	}
	contexts[atomic_fetch_add(&n_contexts, 1) % CONTEXTS] = context;
}

uint8_t devices_context(void)
{
	typedef CUresult get_context(CUcontext *);
	static _Atomic(void *) cached;
	CUcontext context = NULL;
	if (!atomic_load_explicit(&n_contexts, memory_order_relaxed))
		return 0;
	get_context *find = (get_context *)find_function(&cached, "cuCtxGetCurrent");
	if (!find || find(&context) || !context)
		return 0;
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (atomic_load_explicit(&contexts[i], memory_order_relaxed) == context)
			return (uint8_t)(i + 1);
	return 0;
}

void devices_forget(void)
{
	described = false;
}
