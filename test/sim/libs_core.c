/*
 * The libraries' connection to the driver, and the generic entry points. Runs on the application's
 * threads.
 */
#include "test/sim/libs.h"

#include <cuda.h>
#include <cupti_runtime_cbid.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct {
	__typeof__(&cuLibraryLoadData) library_load;
	__typeof__(&cuLibraryGetKernel) get_kernel;
	__typeof__(&cuLaunchKernel) launch;
	__typeof__(&cuMemcpyDtoDAsync) copy;
	__typeof__(&cuMemcpy2DAsync) copy_2d;
	__typeof__(&cuStreamSynchronize) wait;
	__typeof__(&cuMemAlloc) allocate;
	__typeof__(&cuMemFree) free;
	const struct sim_tools *tools;
} driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUlibrary library;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define KERNELS 4096
static struct {
	const char *name;
	CUkernel kernel;
} kernels[KERNELS];

static void driver_find(void)
{
	static const char image[] = "profsim libraries";
	__typeof__(&cuGetProcAddress) find;
	CUdriverProcAddressQueryResult found;
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);
	if (!handle)
		return;
	*(void **)&find = dlsym(handle, "cuGetProcAddress_v2");
	if (!find)
		return;
	__typeof__(&cuGetExportTable) table;
	CUuuid id;
	memcpy(id.bytes, SIM_TOOLS_UUID, sizeof(id.bytes));
	find("cuGetExportTable", (void **)&table, 12000, 0, &found);
	if (table)
		table((const void **)&driver.tools, &id);
	find("cuLibraryLoadData", (void **)&driver.library_load, 12000, 0, &found);
	find("cuLibraryGetKernel", (void **)&driver.get_kernel, 12000, 0, &found);
	find("cuMemcpyDtoDAsync", (void **)&driver.copy, 12000, 0, &found);
	find("cuMemcpy2DAsync", (void **)&driver.copy_2d, 12000, 0, &found);
	find("cuStreamSynchronize", (void **)&driver.wait, 12000, 0, &found);
	find("cuMemAlloc", (void **)&driver.allocate, 12000, 0, &found);
	find("cuMemFree", (void **)&driver.free, 12000, 0, &found);
	find("cuLaunchKernel", (void **)&driver.launch, 12000, 0, &found);
	if (driver.library_load &&
	    driver.library_load(&library, image, NULL, NULL, 0, NULL, NULL, 0))
		driver.launch = NULL;
}

/*
 * Finds or loads the kernel with this name. Compares the text, because callers build names on their
 * stacks. If the table is full, the driver finds the kernel at each call.
 */
static CUresult kernel_find(const char *name, CUkernel *kernel)
{
	uint32_t hash = 2166136261u;
	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	pthread_mutex_lock(&lock);
	unsigned at = hash % KERNELS, tries = 0;
	while (tries < 64 && kernels[at].name && strcmp(kernels[at].name, name)) {
		at = (at + 1) % KERNELS;
		tries++;
	}
	*kernel = tries < 64 && kernels[at].name ? kernels[at].kernel : NULL;
	pthread_mutex_unlock(&lock);
	if (*kernel)
		return CUDA_SUCCESS;
	CUresult rc = driver.get_kernel(kernel, library, name);
	pthread_mutex_lock(&lock);
	if (!rc && tries < 64 && !kernels[at].name) {
		kernels[at].kernel = *kernel;
		kernels[at].name = strdup(name);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/*
 * Opens a frame of a runtime call. NVIDIA's libraries contain a statically linked runtime. An
 * interposer sees only the driver calls of that runtime; CUPTI sees its runtime calls.
 */
static void enter_runtime(struct sim_frame *frame, uint32_t cbid, const char *name)
{
	*frame = (struct sim_frame){ .domain = SIM_RUNTIME, .cbid = cbid, .name = name };
	if (driver.tools)
		driver.tools->enter(frame, false);
}

static int leave_runtime(struct sim_frame *frame, int status)
{
	return driver.tools ? driver.tools->leave(frame, status) : status;
}

int libs_launch(void *stream, const char *name, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		unsigned threads)
{
	CUkernel kernel;
	pthread_once(&once, driver_find);
	if (!driver.launch)
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult rc = kernel_find(name, &kernel);
	if (rc)
		return (int)rc;
	struct sim_frame frame;
	enter_runtime(&frame, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
		      "cudaLaunchKernelExC");
	rc = driver.launch((CUfunction)kernel, grid_x, grid_y, grid_z, threads, 1, 1, 0, stream,
			   NULL, NULL);
	return leave_runtime(&frame, (int)rc);
}

const struct sim_tools *libs_tools(void)
{
	pthread_once(&once, driver_find);
	return driver.tools;
}

int libs_launch_meeting(void *stream, const char *kernel, unsigned blocks, sim_meeting *meets,
			void *arg, bool *met)
{
	const struct sim_tools *tools = libs_tools();
	*met = tools && tools->meet(stream, meets, arg);
	return libs_launch(stream, kernel, blocks, 1, 1, 512);
}

int libs_copy_on(void *stream, void *to, const void *from, size_t bytes)
{
	pthread_once(&once, driver_find);
	if (!driver.copy)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (to == from)
		return 0;
	struct sim_frame frame;
	enter_runtime(&frame, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync");
	CUresult rc = driver.copy((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
	return leave_runtime(&frame, (int)rc);
}

int libs_copy_2d(void *stream, void *to, size_t to_pitch, const void *from, size_t from_pitch,
		 size_t width, size_t height, enum libs_direction direction, bool waits)
{
	pthread_once(&once, driver_find);
	if (!driver.copy_2d)
		return CUDA_ERROR_NOT_INITIALIZED;
	bool to_host = direction == LIBS_TO_HOST;
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = to_host ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcDevice = (CUdeviceptr)from,
		.srcPitch = from_pitch,
		.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = to,
		.dstDevice = (CUdeviceptr)to,
		.dstPitch = to_pitch,
		.WidthInBytes = width,
		.Height = height,
	};
	struct sim_frame frame;
	enter_runtime(&frame, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2DAsync_v3020,
		      "cudaMemcpy2DAsync");
	CUresult rc = driver.copy_2d(&copy, stream);
	leave_runtime(&frame, (int)rc);
	return (int)rc ?: waits ? libs_wait(stream) : 0;
}

int libs_wait(void *stream)
{
	pthread_once(&once, driver_find);
	if (!driver.wait)
		return CUDA_ERROR_NOT_INITIALIZED;
	struct sim_frame frame;
	enter_runtime(&frame, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
		      "cudaStreamSynchronize");
	CUresult rc = driver.wait(stream);
	return leave_runtime(&frame, (int)rc);
}

int libs_allocate(void **out, size_t bytes)
{
	pthread_once(&once, driver_find);
	if (!driver.allocate)
		return CUDA_ERROR_NOT_INITIALIZED;
	struct sim_frame frame;
	enter_runtime(&frame, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, "cudaMalloc");
	CUresult rc = driver.allocate((CUdeviceptr *)out, bytes);
	return leave_runtime(&frame, (int)rc);
}

int libs_free(void *memory)
{
	pthread_once(&once, driver_find);
	if (!driver.free)
		return CUDA_ERROR_NOT_INITIALIZED;
	struct sim_frame frame;
	enter_runtime(&frame, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020, "cudaFree");
	CUresult rc = driver.free((CUdeviceptr)memory);
	return leave_runtime(&frame, (int)rc);
}

int libs_compute(void *handle, const char *function)
{
	struct libs_handle *h = handle;
	char name[160];
	snprintf(name, sizeof(name), "%s_kernel", function);
	return libs_launch(h ? h->stream : NULL, name, 1, 1, 1, 128) ? CUBLAS_FAILED : 0;
}

int libs_nothing(const char *function)
{
	static int log = -1;
	if (log < 0)
		log = atoi(getenv("PROFSIM_LOG") ?: "0");
	if (log >= 1)
		sim_log("%s does nothing", function);
	return 0;
}

int libs_missing(const char *function, int status)
{
	static struct sim_said said;
	pthread_mutex_lock(&lock);
	bool is_new = sim_say_once(&said, function);
	pthread_mutex_unlock(&lock);
	if (is_new)
		sim_log("%s is not simulated", function);
	return status;
}

/* Descriptors are opaque to the caller; 512 bytes are enough for any. */
int libs_create(void **out)
{
	*out = calloc(1, 512);
	return 0;
}

int libs_destroy(void *object)
{
	free(object);
	return 0;
}

int libs_set_stream(void *handle, void *stream)
{
	struct libs_handle *h = handle;
	h->stream = stream;
	return 0;
}
