/*
 * Calls every driver function of hooks.def, each fetched by dlsym from libcuda.so.1 (every.h says
 * what is printed).
 */
#define __CUDA_API_VERSION_INTERNAL /* all versions of a function under their own names */
#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <string.h>

static void *find(const char *symbol);
#define EVERY_FIND(symbol) ((__typeof__(&symbol))find(#symbol))
#include "test/prog/every.h"
#include "test/prog/ptx.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { KIB = 1024, BYTES = 64 * KIB, WIDTH = 256, HEIGHT = 16 };

static void *find(const char *symbol)
{
	static void *library;
	if (!library)
		library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *function = library ? dlsym(library, symbol) : NULL;
	if (!function) {
		fprintf(stderr, "every_driver: no %s: %s\n", symbol, dlerror());
		exit(1);
	}
	return function;
}

#define CU(symbol, ...) NEED(EVERY_FIND(symbol)(__VA_ARGS__))

static CUdevice device;
static CUcontext context;
static CUstream stream;
static CUfunction kernel;
static CUdeviceptr here, there;
static char host[BYTES];

static void on_stream(void *data)
{
	(void)data;
}

static void on_stream_status(CUstream s, CUresult status, void *data)
{
	(void)s;
	(void)status;
	(void)data;
}

static void settle(void)
{
	CALL(cuCtxSynchronize, (), "cat=sync");
}

static void contexts(void)
{
	CUcontext other = NULL;
	CALL(cuCtxCreate, (&other, 0, device), "arg=%lx", HEX(other));
	CALL(cuCtxDestroy, (other), "cat=control");
	CALL(cuCtxCreate_v2, (&other, 0, device), "arg=%lx", HEX(other));
	CALL(cuCtxDestroy_v2, (other), "cat=control");
	CALL(cuCtxCreate_v3, (&other, NULL, 0, 0, device), "arg=%lx", HEX(other));
	CALL(cuCtxDestroy_v2, (other), "cat=control");
	CALL(cuDevicePrimaryCtxRetain, (&other, device), "arg=%lx", HEX(other));
	CALL(cuCtxPushCurrent, (other), "arg=%lx", HEX(other));
	CALL(cuCtxPopCurrent, (&other), "arg=%lx", HEX(other));
	CALL(cuCtxPushCurrent_v2, (other), "arg=%lx", HEX(other));
	CALL(cuCtxPopCurrent_v2, (&other), "arg=%lx", HEX(other));
	CALL(cuCtxSetCurrent, (other), "arg=%lx", HEX(other));
	CALL(cuDevicePrimaryCtxRelease, (device), "arg=0");
	CALL(cuDevicePrimaryCtxRetain, (&other, device), "arg=%lx", HEX(other));
	CALL(cuDevicePrimaryCtxRelease_v2, (device), "arg=0");
	CALL(cuDevicePrimaryCtxReset, (device), "cat=control");
	CALL(cuDevicePrimaryCtxReset_v2, (device), "cat=control");

	CUdevResource resource = { 0 };
	CUdevResourceDesc description = NULL;
	CUgreenCtx green = NULL;
	if (!EVERY_FIND(cuDeviceGetDevResource)(device, &resource, CU_DEV_RESOURCE_TYPE_SM))
		EVERY_FIND(cuDevResourceGenerateDesc)(&description, &resource, 1);
	MAY_FAIL(cuGreenCtxCreate, (&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
		 "arg=%lx", HEX(green));

	CUctxCreateParams parameters = { 0 };
	CALL(cuCtxCreate_v4, (&context, &parameters, 0, device), "arg=%lx", HEX(context));
	CALL(cuProfilerStart, (), "cat=profiler");
	CALL(cuProfilerStop, (), "cat=profiler");
}

static void launches(void)
{
	CUmodule module;
	CU(cuModuleLoadData, &module, PTX_SPINS);
	CALL(cuModuleGetFunction, (&kernel, module, "spin_5us"), "arg=%lx", HEX(kernel));
	CUlibrary library;
	CUkernel loaded = NULL;
	CUfunction function = NULL;
	CU(cuLibraryLoadData, &library, PTX_SPINS, NULL, NULL, 0, NULL, NULL, 0);
	CALL(cuLibraryGetKernel, (&loaded, library, "spin_20us"), "arg=%lx", HEX(loaded));
	CALL(cuKernelGetFunction, (&function, loaded), "arg=%lx", HEX(function));
	CALL(cuLaunchKernel, (function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL),
	     "stream=%lx name=spin_20us", HEX(stream));
	CALL_SZ(cuLaunchKernel, (kernel, 4, 2, 1, 32, 2, 1, 0, stream, NULL, NULL),
		"stream=%lx grid=4,2,1 block=32,2,1 name=spin_5us", HEX(stream));
	CALL_SZ(cuLaunchCooperativeKernel, (kernel, 4, 1, 1, 64, 1, 1, 0, stream, NULL),
		"stream=%lx grid=4,1,1 block=64,1,1 name=spin_5us", HEX(stream));
	CUlaunchConfig config = { .gridDimX = 3,
				  .gridDimY = 1,
				  .gridDimZ = 2,
				  .blockDimX = 128,
				  .blockDimY = 1,
				  .blockDimZ = 1,
				  .hStream = stream };
	CALL_SZ(cuLaunchKernelEx, (&config, kernel, NULL, NULL),
		"stream=%lx grid=3,1,2 block=128,1,1 name=spin_5us", HEX(stream));
	CUDA_LAUNCH_PARAMS list[] = { { .function = kernel,
					.gridDimX = 2,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 32,
					.blockDimY = 1,
					.blockDimZ = 1,
					.hStream = stream } };
	CALL(cuLaunchCooperativeKernelMultiDevice, (list, 1, 0),
	     "stream=%lx grid=2,1,1 block=32,1,1", HEX(stream));
	CU(cuFuncSetBlockShape, kernel, 32, 1, 1);
	CALL(cuLaunch, (kernel), "stream=0 grid=1,1,1");
	CALL(cuLaunchGrid, (kernel, 5, 2), "stream=0 grid=5,2,1");
	CALL(cuLaunchGridAsync, (kernel, 5, 3, stream), "stream=%lx grid=5,3,1", HEX(stream));
	CALL_SZ(cuLaunchHostFunc, (stream, on_stream, NULL), "stream=%lx arg=%lx", HEX(stream),
		HEX(on_stream));
	CALL_SZ(cuStreamAddCallback, (stream, on_stream_status, NULL, 0), "stream=%lx arg=%lx",
		HEX(stream), HEX(on_stream_status));
	settle();
}

static void graphs(void)
{
	CUgraph graph, other;
	CUgraphExec exec = NULL, spare = NULL;
	CALL(cuStreamBeginCapture_v2, (stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "stream=%lx",
	     HEX(stream));
	CALL(cuStreamEndCapture, (stream, &graph), "stream=%lx arg=%lx", HEX(stream), HEX(graph));
	CALL(cuStreamBeginCapture_v2_ptsz, (stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
	     "stream=%lx", HEX(stream));
	CALL(cuLaunchKernel, (kernel, 7, 1, 1, 32, 1, 1, 0, stream, NULL, NULL),
	     "stream=%lx grid=7,1,1", HEX(stream));
	CALL(cuStreamEndCapture_ptsz, (stream, &graph), "stream=%lx arg=%lx", HEX(stream),
	     HEX(graph));
	CALL(cuGraphCreate, (&other, 0), "arg=%lx", HEX(other));
	CALL(cuStreamBeginCaptureToGraph,
	     (stream, other, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED), "stream=%lx",
	     HEX(stream));
	CALL(cuStreamEndCapture, (stream, &other), "arg=%lx", HEX(other));
	CALL(cuStreamBeginCaptureToGraph_ptsz,
	     (stream, other, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED), "stream=%lx",
	     HEX(stream));
	CALL(cuStreamEndCapture, (stream, &other), "arg=%lx", HEX(other));

	CUDA_GRAPH_INSTANTIATE_PARAMS parameters = { 0 };
	CALL_SZ(cuGraphInstantiateWithParams, (&spare, graph, &parameters), "arg=%lx", HEX(spare));
	CALL(cuGraphInstantiate, (&spare, graph, NULL, NULL, 0), "arg=%lx", HEX(spare));
	CALL(cuGraphInstantiate_v2, (&spare, graph, NULL, NULL, 0), "arg=%lx", HEX(spare));
	CALL(cuGraphInstantiateWithFlags, (&exec, graph, 0), "arg=%lx", HEX(exec));
	CUgraphNode node;
	CUgraphExecUpdateResult result;
	CUgraphExecUpdateResultInfo info;
	CALL(cuGraphExecUpdate, (exec, graph, &node, &result), "arg=%lx", HEX(exec));
	CALL(cuGraphExecUpdate_v2, (exec, graph, &info), "arg=%lx", HEX(exec));
	CALL_SZ(cuGraphUpload, (exec, stream), "stream=%lx arg=%lx", HEX(stream), HEX(exec));
	CALL_SZ(cuGraphLaunch, (exec, stream), "stream=%lx arg=%lx", HEX(stream), HEX(exec));
	settle();
	CALL(cuGraphExecDestroy, (spare), "arg=%lx", HEX(spare));
}

static void nodes(void)
{
	CUgraph graph, inner;
	CUgraphExec exec;
	CUgraphNode node, copy, set, added;
	CUDA_KERNEL_NODE_PARAMS_v1 old = { .func = kernel,
					   .gridDimX = 4,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 32,
					   .blockDimY = 1,
					   .blockDimZ = 1 };
	CUDA_KERNEL_NODE_PARAMS new = { .func = kernel,
					.gridDimX = 5,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 32,
					.blockDimY = 1,
					.blockDimZ = 1 };
	CUDA_MEMCPY3D copying = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				  .srcDevice = here,
				  .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				  .dstDevice = there,
				  .WidthInBytes = 64,
				  .Height = 1,
				  .Depth = 1 };
	CUDA_MEMSET_NODE_PARAMS setting = {
		.dst = here, .elementSize = 4, .width = 16, .height = 1
	};
	CUDA_HOST_NODE_PARAMS calling = { .fn = on_stream };
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
	any.memset.dst = there;
	any.memset.elementSize = 4;
	any.memset.width = 32;
	any.memset.height = 1;
	any.memset.ctx = context;
	CALL(cuGraphCreate, (&graph, 0), "arg=%lx", HEX(graph));
	CALL(cuGraphCreate, (&inner, 0), "arg=%lx", HEX(inner));
	CALL(cuGraphAddKernelNode, (&added, graph, NULL, 0, &old), "grid=4,1,1 block=32,1,1");
	CALL(cuGraphAddKernelNode_v2, (&node, graph, NULL, 0, &new), "grid=5,1,1 block=32,1,1");
	CALL(cuGraphAddMemcpyNode, (&copy, graph, NULL, 0, &copying, context), "arg=40");
	CALL(cuGraphAddMemsetNode, (&set, graph, NULL, 0, &setting, context), "arg=40");
	CALL(cuGraphAddHostNode, (&added, graph, NULL, 0, &calling), "arg=0");
	CALL(cuGraphAddChildGraphNode, (&added, graph, NULL, 0, inner), "arg=%lx", HEX(inner));
	CALL(cuGraphAddNode, (&added, graph, NULL, 0, &any), "arg=80");
	CALL(cuGraphAddNode_v2, (&added, graph, NULL, NULL, 0, &any), "arg=80");
	CALL(cuGraphInstantiateWithFlags, (&exec, graph, 0), "arg=%lx", HEX(exec));
	CALL(cuGraphKernelNodeSetParams, (node, &old), "arg=%lx", HEX(node));
	CALL(cuGraphKernelNodeSetParams_v2, (node, &new), "arg=%lx", HEX(node));
	CALL(cuGraphMemcpyNodeSetParams, (copy, &copying), "arg=%lx", HEX(copy));
	CALL(cuGraphMemsetNodeSetParams, (set, &setting), "arg=%lx", HEX(set));
	CALL(cuGraphNodeSetParams, (added, &any), "arg=%lx", HEX(added));
	CALL(cuGraphExecKernelNodeSetParams, (exec, node, &old), "arg=%lx", HEX(node));
	CALL(cuGraphExecKernelNodeSetParams_v2, (exec, node, &new), "arg=%lx", HEX(node));
	CALL(cuGraphExecMemcpyNodeSetParams, (exec, copy, &copying, context), "arg=%lx", HEX(copy));
	CALL(cuGraphExecMemsetNodeSetParams, (exec, set, &setting, context), "arg=%lx", HEX(set));
	CALL(cuGraphExecNodeSetParams, (exec, added, &any), "arg=%lx", HEX(added));
	CALL(cuGraphDestroyNode, (added), "arg=%lx", HEX(added));
	CALL(cuGraphClone, (&inner, graph), "arg=%lx", HEX(inner));
	CALL(cuGraphDestroy, (graph), "arg=%lx", HEX(graph));
}

static void device_memory(void)
{
	size_t pitch = 0;
	CUdeviceptr p = 0;
	CALL(cuMemAlloc_v2, (&here, BYTES), "arg=%lx bytes=%x", HEX(here), BYTES);
	CALL(cuMemAlloc_v2, (&there, BYTES), "arg=%lx bytes=%x", HEX(there), BYTES);
	CALL(cuMemAllocPitch_v2, (&p, &pitch, 100, HEIGHT, 4), "arg=%lx bytes=%zx", HEX(p),
	     pitch * HEIGHT);
	CALL(cuMemFree_v2, (p), "arg=%lx", HEX(p));
	CALL(cuMemAllocManaged, (&p, BYTES, CU_MEM_ATTACH_GLOBAL), "arg=%lx bytes=%x", HEX(p),
	     BYTES);
	CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
	CUdeviceptr many[] = { p };
	size_t sizes[] = { BYTES / 2 }, first[] = { 0 };
	CALL_SZ(cuMemPrefetchAsync, (p, BYTES, device, stream), "stream=%lx arg=%x", HEX(stream),
		BYTES);
	CALL_SZ(cuMemPrefetchAsync_v2, (p, BYTES, location, 0, stream), "stream=%lx arg=%x",
		HEX(stream), BYTES);
	CALL_SZ(cuMemPrefetchBatchAsync, (many, sizes, 1, &location, first, 1, 0, stream),
		"stream=%lx arg=%x", HEX(stream), BYTES / 2);
	settle();
	CALL(cuMemFree_v2, (p), "arg=%lx", HEX(p));
	CUipcMemHandle handle = { { 0 } };
	EVERY_FIND(cuIpcGetMemHandle)(&handle, here);
	MAY_FAIL(cuIpcOpenMemHandle_v2, (&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		 "cat=alloc");
	MAY_FAIL(cuIpcCloseMemHandle, (p), "arg=%lx", HEX(p));
}

static void pools(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
						    .id = device } };
	CUmemoryPool pool = NULL;
	CUdeviceptr p = 0, q = 0;
	CALL(cuMemPoolCreate, (&pool, &properties), "arg=%lx", HEX(pool));
	CALL(cuMemAllocAsync, (&p, BYTES, stream), "stream=%lx arg=%lx bytes=%x", HEX(stream),
	     HEX(p), BYTES);
	CALL(cuMemAllocAsync_ptsz, (&q, BYTES, stream), "stream=%lx arg=%lx bytes=%x", HEX(stream),
	     HEX(q), BYTES);
	CALL(cuMemFreeAsync, (p, stream), "stream=%lx arg=%lx", HEX(stream), HEX(p));
	CALL(cuMemFreeAsync_ptsz, (q, stream), "stream=%lx arg=%lx", HEX(stream), HEX(q));
	CALL(cuMemAllocFromPoolAsync, (&p, KIB, pool, stream), "stream=%lx arg=%lx bytes=%x",
	     HEX(stream), HEX(p), KIB);
	CALL(cuMemFreeAsync, (p, stream), "arg=%lx", HEX(p));
	CALL(cuMemAllocFromPoolAsync_ptsz, (&p, KIB, pool, stream), "stream=%lx arg=%lx bytes=%x",
	     HEX(stream), HEX(p), KIB);
	CALL(cuMemFreeAsync, (p, stream), "arg=%lx", HEX(p));
	settle();
	CALL(cuMemPoolTrimTo, (pool, 0), "arg=%lx", HEX(pool));
	CALL(cuMemPoolDestroy, (pool), "arg=%lx", HEX(pool));
}

static void host_memory(void)
{
	void *p = NULL;
	static char registered[4 * 4096] __attribute__((aligned(4096)));
	CALL(cuMemAllocHost_v2, (&p, BYTES), "arg=%lx bytes=%x", HEX(p), BYTES);
	CALL(cuMemFreeHost, (p), "arg=%lx", HEX(p));
	CALL(cuMemHostAlloc, (&p, BYTES, CU_MEMHOSTALLOC_PORTABLE), "arg=%lx bytes=%x", HEX(p),
	     BYTES);
	CALL(cuMemFreeHost, (p), "arg=%lx", HEX(p));
	CALL(cuMemHostRegister_v2, (registered, sizeof(registered), 0), "arg=%lx bytes=%zx",
	     HEX(registered), sizeof(registered));
	CALL(cuMemHostUnregister, (registered), "arg=%lx", HEX(registered));
}

static void virtual_memory(void)
{
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
							 .id = device } };
	CUmemAccessDesc access = { .location = properties.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr p = 0;
	size_t size = 0;
	CU(cuMemGetAllocationGranularity, &size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	CALL(cuMemAddressReserve, (&p, size, 0, 0, 0), "arg=%lx bytes=%zx", HEX(p), size);
	CALL(cuMemCreate, (&handle, size, &properties, 0), "arg=%lx bytes=%zx", HEX(handle), size);
	CALL(cuMemMap, (p, size, 0, handle, 0), "arg=%lx bytes=%zx", HEX(p), size);
	CALL(cuMemSetAccess, (p, size, &access, 1), "arg=%lx bytes=%zx", HEX(p), size);
	CALL(cuMemUnmap, (p, size), "arg=%lx bytes=%zx", HEX(p), size);
	CALL(cuMemRelease, (handle), "arg=%lx", HEX(handle));
	CALL(cuMemAddressFree, (p, size), "arg=%lx bytes=%zx", HEX(p), size);
}

static void linear_copies(void)
{
	CALL_DS(cuMemcpyHtoD_v2, (here, host, 4096), "arg=1000 detail=1");
	CALL_DS(cuMemcpyDtoD_v2, (there, here, 4097), "arg=1001 detail=3");
	CALL_DS(cuMemcpyDtoH_v2, (host, there, 4098), "arg=1002 detail=2");
	CALL_DS(cuMemcpy, (there, here, 4099), "arg=1003 detail=0");
	CALL_DS(cuMemcpyPeer, (there, context, here, context, 4100), "arg=1004 detail=5");
	CALL_SZ(cuMemcpyHtoDAsync_v2, (here, host, 4101, stream), "stream=%lx arg=1005 detail=1",
		HEX(stream));
	CALL_SZ(cuMemcpyDtoDAsync_v2, (there, here, 4102, stream), "stream=%lx arg=1006 detail=3",
		HEX(stream));
	CALL_SZ(cuMemcpyDtoHAsync_v2, (host, there, 4103, stream), "stream=%lx arg=1007 detail=2",
		HEX(stream));
	CALL_SZ(cuMemcpyAsync, (there, here, 4104, stream), "stream=%lx arg=1008 detail=0",
		HEX(stream));
	CALL_SZ(cuMemcpyPeerAsync, (there, context, here, context, 4105, stream),
		"stream=%lx arg=1009 detail=5", HEX(stream));
	settle();
}

static void array_copies(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = WIDTH, .Height = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
	};
	CUDA_ARRAY3D_DESCRIPTOR deep = { .Width = 16,
					 .Height = 8,
					 .Depth = 4,
					 .Format = CU_AD_FORMAT_UNSIGNED_INT8,
					 .NumChannels = 4 };
	CUarray a = NULL, b = NULL, c = NULL;
	CUmipmappedArray levels = NULL;
	CALL(cuArrayCreate_v2, (&a, &flat), "arg=%lx bytes=400", HEX(a));
	CALL(cuArrayCreate_v2, (&b, &flat), "arg=%lx bytes=400", HEX(b));
	CALL(cuArray3DCreate_v2, (&c, &deep), "arg=%lx bytes=800", HEX(c));
	CALL(cuMipmappedArrayCreate, (&levels, &deep, 1), "arg=%lx bytes=800", HEX(levels));
	CALL(cuMipmappedArrayDestroy, (levels), "arg=%lx", HEX(levels));
	CALL(cuArrayDestroy, (c), "arg=%lx", HEX(c));
	CALL_DS(cuMemcpyHtoA_v2, (a, 0, host, 128), "arg=80 detail=1");
	CALL_DS(cuMemcpyAtoA_v2, (b, 0, a, 0, 132), "arg=84 detail=3");
	CALL_DS(cuMemcpyAtoD_v2, (here, b, 0, 136), "arg=88 detail=3");
	CALL_DS(cuMemcpyDtoA_v2, (a, 0, here, 140), "arg=8c detail=3");
	CALL_DS(cuMemcpyAtoH_v2, (host, a, 0, 144), "arg=90 detail=2");
	CALL_SZ(cuMemcpyHtoAAsync_v2, (a, 0, host, 148, stream), "stream=%lx arg=94 detail=1",
		HEX(stream));
	CALL_SZ(cuMemcpyAtoHAsync_v2, (host, a, 0, 152, stream), "stream=%lx arg=98 detail=2",
		HEX(stream));
	settle();
}

static void shaped_copies(void)
{
	CUDA_MEMCPY2D flat = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = host,
			       .srcPitch = WIDTH,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = here,
			       .dstPitch = WIDTH,
			       .WidthInBytes = WIDTH,
			       .Height = HEIGHT };
	CUDA_MEMCPY3D deep = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = here,
			       .srcPitch = WIDTH,
			       .srcHeight = HEIGHT,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = there,
			       .dstPitch = WIDTH,
			       .dstHeight = HEIGHT,
			       .WidthInBytes = WIDTH,
			       .Height = HEIGHT,
			       .Depth = 2 };
	CUDA_MEMCPY3D_PEER peer = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				    .srcDevice = here,
				    .srcPitch = WIDTH,
				    .srcHeight = HEIGHT,
				    .srcContext = context,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				    .dstDevice = there,
				    .dstPitch = WIDTH,
				    .dstHeight = HEIGHT,
				    .dstContext = context,
				    .WidthInBytes = WIDTH,
				    .Height = HEIGHT,
				    .Depth = 3 };
	CALL_DS(cuMemcpy2D_v2, (&flat), "arg=1000 detail=1");
	CALL_DS(cuMemcpy2DUnaligned_v2, (&flat), "arg=1000 detail=1");
	CALL_DS(cuMemcpy3D_v2, (&deep), "arg=2000 detail=3");
	CALL_DS(cuMemcpy3DPeer, (&peer), "arg=3000 detail=5");
	CALL_SZ(cuMemcpy2DAsync_v2, (&flat, stream), "stream=%lx arg=1000 detail=1", HEX(stream));
	CALL_SZ(cuMemcpy3DAsync_v2, (&deep, stream), "stream=%lx arg=2000 detail=3", HEX(stream));
	CALL_SZ(cuMemcpy3DPeerAsync, (&peer, stream), "stream=%lx arg=3000 detail=5", HEX(stream));

	CUdeviceptr to[] = { there, there + 4096 }, from[] = { here, here + 4096 };
	size_t sizes[] = { 256, 512 }, first[] = { 0 }, failed = SIZE_MAX;
	CUmemcpyAttributes attributes = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CALL_SZ(cuMemcpyBatchAsync, (to, from, sizes, 2, &attributes, first, 1, &failed, stream),
		"stream=%lx arg=300", HEX(stream));
	CALL_SZ(cuMemcpyBatchAsync_v2, (to, from, sizes, 2, &attributes, first, 1, stream),
		"stream=%lx arg=300", HEX(stream));
	CUDA_MEMCPY3D_BATCH_OP operation = {
		.src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { .ptr = here } },
		.dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { .ptr = there } },
		.extent = { .width = WIDTH, .height = 1, .depth = 1 },
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
	};
	CALL_SZ(cuMemcpy3DBatchAsync, (1, &operation, &failed, 0, stream), "stream=%lx",
		HEX(stream));
	CALL_SZ(cuMemcpy3DBatchAsync_v2, (1, &operation, 0, stream), "stream=%lx", HEX(stream));
	settle();
}

static void sets(void)
{
	CALL_DS(cuMemsetD8_v2, (here, 1, 100), "arg=64");
	CALL_DS(cuMemsetD16_v2, (here, 1, 100), "arg=c8");
	CALL_DS(cuMemsetD32_v2, (here, 1, 100), "arg=190");
	CALL_DS(cuMemsetD2D8_v2, (here, WIDTH, 1, 8, 4), "arg=20");
	CALL_DS(cuMemsetD2D16_v2, (here, WIDTH, 1, 8, 4), "arg=40");
	CALL_DS(cuMemsetD2D32_v2, (here, WIDTH, 1, 8, 4), "arg=80");
	CALL_SZ(cuMemsetD8Async, (here, 1, 100, stream), "stream=%lx arg=64", HEX(stream));
	CALL_SZ(cuMemsetD16Async, (here, 1, 100, stream), "stream=%lx arg=c8", HEX(stream));
	CALL_SZ(cuMemsetD32Async, (here, 1, 100, stream), "stream=%lx arg=190", HEX(stream));
	CALL_SZ(cuMemsetD2D8Async, (here, WIDTH, 1, 8, 4, stream), "stream=%lx arg=20",
		HEX(stream));
	CALL_SZ(cuMemsetD2D16Async, (here, WIDTH, 1, 8, 4, stream), "stream=%lx arg=40",
		HEX(stream));
	CALL_SZ(cuMemsetD2D32Async, (here, WIDTH, 1, 8, 4, stream), "stream=%lx arg=80",
		HEX(stream));
	settle();
}

static void streams_and_events(void)
{
	CUstream other = NULL;
	CUevent begin = NULL, end = NULL;
	float ms = 0;
	CALL(cuStreamCreateWithPriority, (&other, CU_STREAM_NON_BLOCKING, 0), "stream=%lx",
	     HEX(other));
	CALL(cuStreamDestroy, (other), "stream=%lx", HEX(other));
	CALL(cuStreamCreate, (&other, CU_STREAM_NON_BLOCKING), "stream=%lx", HEX(other));
	CALL(cuStreamDestroy_v2, (other), "stream=%lx", HEX(other));
	CALL(cuEventCreate, (&begin, 0), "arg=%lx", HEX(begin));
	CALL(cuEventCreate, (&end, 0), "arg=%lx", HEX(end));
	CALL_SZ(cuEventRecord, (begin, stream), "stream=%lx arg=%lx", HEX(stream), HEX(begin));
	CALL_SZ(cuEventRecordWithFlags, (end, stream, 0), "stream=%lx arg=%lx", HEX(stream),
		HEX(end));
	CALL_SZ(cuStreamWaitEvent, (stream, end, 0), "stream=%lx arg=%lx", HEX(stream), HEX(end));
	CALL_SZ(cuStreamWriteValue32_v2, (stream, here, 7, 0), "stream=%lx arg=%lx", HEX(stream),
		HEX(here));
	CALL_SZ(cuStreamWriteValue64_v2, (stream, there, 7, 0), "stream=%lx arg=%lx", HEX(stream),
		HEX(there));
	CALL_SZ(cuStreamWaitValue32, (stream, here, 0, CU_STREAM_WAIT_VALUE_GEQ),
		"stream=%lx arg=%lx", HEX(stream), HEX(here));
	CALL_SZ(cuStreamWaitValue32_v2, (stream, here, 0, CU_STREAM_WAIT_VALUE_GEQ), "stream=%lx",
		HEX(stream));
	CALL_SZ(cuStreamWaitValue64, (stream, there, 0, CU_STREAM_WAIT_VALUE_GEQ), "stream=%lx",
		HEX(stream));
	CALL_SZ(cuStreamWaitValue64_v2, (stream, there, 0, CU_STREAM_WAIT_VALUE_GEQ), "stream=%lx",
		HEX(stream));
	CALL(cuCtxSynchronize_v2, (context), "cat=sync");
	CALL_SZ(cuStreamSynchronize, (stream), "stream=%lx", HEX(stream));
	CALL(cuEventSynchronize, (end), "arg=%lx", HEX(end));
	CALL_SZ(cuStreamQuery, (stream), "stream=%lx", HEX(stream));
	CALL(cuEventQuery, (end), "arg=%lx", HEX(end));
	CALL(cuEventElapsedTime, (&ms, begin, end), "arg=%lx", HEX(begin));
	CALL(cuEventElapsedTime_v2, (&ms, begin, end), "arg=%lx", HEX(begin));
	CALL(cuEventDestroy, (begin), "arg=%lx", HEX(begin));
	CALL(cuEventDestroy_v2, (end), "arg=%lx", HEX(end));
}

int main(void)
{
	CU(cuInit, 0);
	CU(cuDeviceGet, &device, 0);
	contexts();
	CALL(cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING), "stream=%lx", HEX(stream));
	launches();
	graphs();
	device_memory();
	pools();
	host_memory();
	virtual_memory();
	linear_copies();
	array_copies();
	shaped_copies();
	sets();
	nodes();
	streams_and_events();
	return 0;
}
