/*
 * Calls every runtime function of hooks.def that CUDA 13's libcudart has, linked (every.h says what
 * is printed). Kernel and variable are registered by hand, as nvcc's own start-up code does,
 * without an image: simulated GPU only.
 */
#define __CUDA_API_VERSION_INTERNAL /* twins under their own names */
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "test/prog/every.h"
#include "test/prog/register.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { KIB = 1024, BYTES = 64 * KIB, WIDTH = 256, HEIGHT = 16 };

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t size, int constant, int global);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				    size_t shared, cudaStream_t stream);

static cudaStream_t stream;
static char *here, *there;
static char host[BYTES];
static char symbol[4 * KIB]; /* stands for a __device__ variable */

static void register_image(void)
{
	void **handle = register_spin();
	__cudaRegisterVar(handle, symbol, "symbol", "symbol", 0, sizeof(symbol), 0, 0);
	__cudaRegisterFatBinaryEnd(handle);
}

static void on_stream(void *data)
{
	(void)data;
}

static void on_stream_status(cudaStream_t s, cudaError_t status, void *data)
{
	(void)s;
	(void)status;
	(void)data;
}

static void settle(void)
{
	CALL(cudaDeviceSynchronize, (), "cat=sync");
}

static void launches(void)
{
	const void *function = (const void *)(uintptr_t)spin_5us;
	dim3 grid = { 4, 2, 1 }, block = { 32, 2, 1 };
	cudaKernel_t kernel;
	NEED(cudaGetKernel(&kernel, function));
	CALL_SZ(cudaLaunchKernel, (function, grid, block, NULL, 0, stream),
		"stream=%lx grid=4,2,1 block=32,2,1 name=spin_5us", HEX(stream));
	CALL_SZ(__cudaLaunchKernel, (kernel, grid, block, NULL, 0, stream),
		"stream=%lx grid=4,2,1 block=32,2,1 name=spin_5us", HEX(stream));
	CALL_SZ(cudaLaunchCooperativeKernel, (function, grid, block, NULL, 0, stream),
		"stream=%lx grid=4,2,1", HEX(stream));
	cudaLaunchConfig_t config = { .gridDim = { 3, 1, 2 },
				      .blockDim = { 128, 1, 1 },
				      .stream = stream };
	CALL_SZ(cudaLaunchKernelExC, (&config, function, NULL),
		"stream=%lx grid=3,1,2 block=128,1,1", HEX(stream));
	CALL_SZ(cudaLaunchHostFunc, (stream, on_stream, NULL), "stream=%lx arg=%lx", HEX(stream),
		HEX(on_stream));
	CALL_SZ(cudaStreamAddCallback, (stream, on_stream_status, NULL, 0), "stream=%lx arg=%lx",
		HEX(stream), HEX(on_stream_status));
	settle();
}

static void graphs(void)
{
	cudaGraph_t graph, other;
	cudaGraphExec_t exec = NULL, spare = NULL;
	CALL(cudaStreamBeginCapture, (stream, cudaStreamCaptureModeThreadLocal), "stream=%lx",
	     HEX(stream));
	CALL(cudaStreamEndCapture, (stream, &graph), "stream=%lx arg=%lx", HEX(stream), HEX(graph));
	CALL(cudaStreamBeginCapture_ptsz, (stream, cudaStreamCaptureModeThreadLocal), "stream=%lx",
	     HEX(stream));
	CALL(cudaMemsetAsync, (here, 0, 8, stream), "stream=%lx arg=8", HEX(stream));
	CALL(cudaStreamEndCapture_ptsz, (stream, &graph), "stream=%lx arg=%lx", HEX(stream),
	     HEX(graph));
	CALL(cudaGraphCreate, (&other, 0), "arg=%lx", HEX(other));
	CALL(cudaStreamBeginCaptureToGraph,
	     (stream, other, NULL, NULL, 0, cudaStreamCaptureModeRelaxed), "stream=%lx",
	     HEX(stream));
	CALL(cudaStreamEndCapture, (stream, &other), "arg=%lx", HEX(other));
	CALL(cudaStreamBeginCaptureToGraph_ptsz,
	     (stream, other, NULL, NULL, 0, cudaStreamCaptureModeRelaxed), "stream=%lx",
	     HEX(stream));
	CALL(cudaStreamEndCapture, (stream, &other), "arg=%lx", HEX(other));

	cudaGraphInstantiateParams parameters = { 0 };
	cudaGraphExecUpdateResultInfo info;
	CALL_SZ(cudaGraphInstantiateWithParams, (&spare, graph, &parameters), "arg=%lx",
		HEX(spare));
	CALL(cudaGraphInstantiate, (&spare, graph, 0), "arg=%lx", HEX(spare));
	CALL(cudaGraphInstantiateWithFlags, (&exec, graph, 0), "arg=%lx", HEX(exec));
	CALL(cudaGraphExecUpdate, (exec, graph, &info), "arg=%lx", HEX(exec));
	CALL_SZ(cudaGraphUpload, (exec, stream), "stream=%lx arg=%lx", HEX(stream), HEX(exec));
	CALL_SZ(cudaGraphLaunch, (exec, stream), "stream=%lx arg=%lx", HEX(stream), HEX(exec));
	settle();
	CALL(cudaGraphExecDestroy, (spare), "arg=%lx", HEX(spare));
}

static void nodes(void)
{
	cudaGraph_t graph, inner;
	cudaGraphExec_t exec;
	cudaGraphNode_t node, copy, line, set, added;
	struct cudaKernelNodeParams kernel = { .func = (void *)(uintptr_t)spin_5us,
					       .gridDim = { 4, 1, 1 },
					       .blockDim = { 32, 1, 1 } };
	struct cudaMemcpy3DParms copying = { .srcPtr = { here, 64, 64, 1 },
					     .dstPtr = { there, 64, 64, 1 },
					     .extent = { 64, 1, 1 },
					     .kind = cudaMemcpyDeviceToDevice };
	struct cudaMemsetParams setting = {
		.dst = here, .elementSize = 4, .width = 16, .height = 1
	};
	struct cudaHostNodeParams calling = { .fn = on_stream };
	struct cudaGraphNodeParams any = { .type = cudaGraphNodeTypeMemset };
	any.memset.dst = there;
	any.memset.elementSize = 4;
	any.memset.width = 32;
	any.memset.height = 1;
	CALL(cudaGraphCreate, (&graph, 0), "arg=%lx", HEX(graph));
	CALL(cudaGraphCreate, (&inner, 0), "arg=%lx", HEX(inner));
	CALL(cudaGraphAddKernelNode, (&node, graph, NULL, 0, &kernel),
	     "grid=4,1,1 block=32,1,1 name=spin_5us");
	CALL(cudaGraphAddMemcpyNode, (&copy, graph, NULL, 0, &copying), "arg=40");
	CALL(cudaGraphAddMemcpyNode1D,
	     (&line, graph, NULL, 0, here, there, 128, cudaMemcpyDeviceToDevice), "arg=80");
	CALL(cudaGraphAddMemcpyNodeToSymbol,
	     (&added, inner, NULL, 0, symbol, here, 64, 0, cudaMemcpyDeviceToDevice), "arg=40");
	CALL(cudaGraphAddMemcpyNodeFromSymbol,
	     (&added, inner, NULL, 0, there, symbol, 64, 0, cudaMemcpyDeviceToDevice), "arg=40");
	CALL(cudaGraphAddMemsetNode, (&set, graph, NULL, 0, &setting), "arg=40");
	CALL(cudaGraphAddHostNode, (&added, graph, NULL, 0, &calling), "arg=0");
	CALL(cudaGraphAddChildGraphNode, (&added, graph, NULL, 0, inner), "arg=%lx", HEX(inner));
	CALL(cudaGraphAddNode, (&added, graph, NULL, NULL, 0, &any), "arg=80");
	CALL(cudaGraphInstantiate, (&exec, graph, 0), "arg=%lx", HEX(exec));
	CALL(cudaGraphKernelNodeSetParams, (node, &kernel), "arg=%lx", HEX(node));
	CALL(cudaGraphMemcpyNodeSetParams, (copy, &copying), "arg=%lx", HEX(copy));
	CALL(cudaGraphMemcpyNodeSetParams1D, (line, here, there, 64, cudaMemcpyDeviceToDevice),
	     "arg=%lx", HEX(line));
	CALL(cudaGraphMemsetNodeSetParams, (set, &setting), "arg=%lx", HEX(set));
	CALL(cudaGraphNodeSetParams, (added, &any), "arg=%lx", HEX(added));
	CALL(cudaGraphExecKernelNodeSetParams, (exec, node, &kernel), "arg=%lx", HEX(node));
	CALL(cudaGraphExecMemcpyNodeSetParams, (exec, copy, &copying), "arg=%lx", HEX(copy));
	CALL(cudaGraphExecMemcpyNodeSetParams1D,
	     (exec, line, here, there, 64, cudaMemcpyDeviceToDevice), "arg=%lx", HEX(line));
	CALL(cudaGraphExecMemsetNodeSetParams, (exec, set, &setting), "arg=%lx", HEX(set));
	CALL(cudaGraphExecNodeSetParams, (exec, added, &any), "arg=%lx", HEX(added));
	CALL(cudaGraphDestroyNode, (added), "arg=%lx", HEX(added));
	CALL(cudaGraphClone, (&inner, graph), "arg=%lx", HEX(inner));
	CALL(cudaGraphDestroy, (graph), "arg=%lx", HEX(graph));
}

static void device_memory(void)
{
	size_t pitch = 0;
	char *p = NULL;
	struct cudaPitchedPtr box = { 0 };
	struct cudaExtent extent = { 64, 4, 2 };
	CALL(cudaMalloc, ((void **)&here, BYTES), "arg=%lx bytes=%x", HEX(here), BYTES);
	CALL(cudaMalloc, ((void **)&there, BYTES), "arg=%lx bytes=%x", HEX(there), BYTES);
	CALL(cudaMallocPitch, ((void **)&p, &pitch, 100, HEIGHT), "arg=%lx bytes=%zx", HEX(p),
	     pitch * HEIGHT);
	CALL(cudaFree, (p), "arg=%lx", HEX(p));
	CALL(cudaMalloc3D, (&box, extent), "arg=%lx bytes=%zx", HEX(box.ptr), box.pitch * 8);
	CALL_DS(cudaMemset3D, (box, 1, extent), "arg=200");
	CALL_SZ(cudaMemset3DAsync, (box, 1, extent, stream), "stream=%lx arg=200", HEX(stream));
	settle();
	CALL(cudaFree, (box.ptr), "arg=%lx", HEX(box.ptr));
	CALL(cudaMallocManaged, ((void **)&p, BYTES, cudaMemAttachGlobal), "arg=%lx bytes=%x",
	     HEX(p), BYTES);
	struct cudaMemLocation location = { .type = cudaMemLocationTypeDevice, .id = 0 };
	void *many[] = { p };
	size_t sizes[] = { BYTES / 2 }, first[] = { 0 };
	CALL_SZ(cudaMemPrefetchAsync, (p, BYTES, location, 0, stream), "arg=%x", BYTES);
	CALL_SZ(cudaMemPrefetchBatchAsync, (many, sizes, 1, &location, first, 1, 0, stream),
		"stream=%lx arg=%x", HEX(stream), BYTES / 2);
	settle();
	CALL(cudaFree, (p), "arg=%lx", HEX(p));
	cudaIpcMemHandle_t handle = { { 0 } };
	cudaIpcGetMemHandle(&handle, here);
	MAY_FAIL(cudaIpcOpenMemHandle, ((void **)&p, handle, cudaIpcMemLazyEnablePeerAccess),
		 "cat=alloc");
	MAY_FAIL(cudaIpcCloseMemHandle, (p), "arg=%lx", HEX(p));
}

static void pools(void)
{
	struct cudaMemPoolProps properties = { .allocType = cudaMemAllocationTypePinned,
					       .location = { .type = cudaMemLocationTypeDevice,
							     .id = 0 } };
	cudaMemPool_t pool = NULL;
	void *p = NULL, *q = NULL;
	CALL(cudaMemPoolCreate, (&pool, &properties), "arg=%lx", HEX(pool));
	CALL(cudaMallocAsync, (&p, BYTES, stream), "stream=%lx arg=%lx bytes=%x", HEX(stream),
	     HEX(p), BYTES);
	CALL(cudaMallocAsync_ptsz, (&q, BYTES, stream), "stream=%lx arg=%lx bytes=%x", HEX(stream),
	     HEX(q), BYTES);
	CALL(cudaFreeAsync, (p, stream), "stream=%lx arg=%lx", HEX(stream), HEX(p));
	CALL(cudaFreeAsync_ptsz, (q, stream), "stream=%lx arg=%lx", HEX(stream), HEX(q));
	CALL(cudaMallocFromPoolAsync, (&p, KIB, pool, stream), "stream=%lx arg=%lx bytes=%x",
	     HEX(stream), HEX(p), KIB);
	CALL(cudaFreeAsync, (p, stream), "arg=%lx", HEX(p));
	CALL(cudaMallocFromPoolAsync_ptsz, (&p, KIB, pool, stream), "stream=%lx arg=%lx bytes=%x",
	     HEX(stream), HEX(p), KIB);
	CALL(cudaFreeAsync, (p, stream), "arg=%lx", HEX(p));
	settle();
	CALL(cudaMemPoolTrimTo, (pool, 0), "arg=%lx", HEX(pool));
	CALL(cudaMemPoolDestroy, (pool), "arg=%lx", HEX(pool));
}

static void host_memory(void)
{
	void *p = NULL;
	static char registered[4 * 4096] __attribute__((aligned(4096)));
	CALL(cudaMallocHost, (&p, BYTES), "arg=%lx bytes=%x", HEX(p), BYTES);
	CALL(cudaFreeHost, (p), "arg=%lx", HEX(p));
	CALL(cudaHostAlloc, (&p, BYTES, cudaHostAllocPortable), "arg=%lx bytes=%x", HEX(p), BYTES);
	CALL(cudaFreeHost, (p), "arg=%lx", HEX(p));
	CALL(cudaHostRegister, (registered, sizeof(registered), 0), "arg=%lx bytes=%zx",
	     HEX(registered), sizeof(registered));
	CALL(cudaHostUnregister, (registered), "arg=%lx", HEX(registered));
}

static void linear_copies(void)
{
	CALL_DS(cudaMemcpy, (here, host, 4096, cudaMemcpyHostToDevice), "arg=1000 detail=1");
	CALL_DS(cudaMemcpy, (there, here, 4096, cudaMemcpyDeviceToDevice), "arg=1000 detail=3");
	CALL(cudaMemcpy, (host, host + 8192, 4096, cudaMemcpyHostToHost), "arg=1000 detail=4");
	CALL(cudaMemcpyPeer, (there, 0, here, 0, 4097), "arg=1001 detail=5");
	CALL_SZ(cudaMemcpyAsync, (host, here, 4098, cudaMemcpyDeviceToHost, stream),
		"stream=%lx arg=1002 detail=2", HEX(stream));
	CALL(cudaMemcpyAsync, (there, here, 4098, cudaMemcpyDefault, stream),
	     "stream=%lx arg=1002 detail=0", HEX(stream));
	CALL(cudaMemcpyPeerAsync, (there, 0, here, 0, 4099, stream), "stream=%lx arg=1003 detail=5",
	     HEX(stream));
	CALL_DS(cudaMemcpyToSymbol, (symbol, host, 256, 16, cudaMemcpyHostToDevice),
		"arg=100 detail=1");
	CALL_DS(cudaMemcpyFromSymbol, (host, symbol, 260, 16, cudaMemcpyDeviceToHost),
		"arg=104 detail=2");
	CALL_SZ(cudaMemcpyToSymbolAsync, (symbol, here, 264, 0, cudaMemcpyDeviceToDevice, stream),
		"stream=%lx arg=108 detail=3", HEX(stream));
	CALL_SZ(cudaMemcpyFromSymbolAsync, (here, symbol, 268, 0, cudaMemcpyDeviceToDevice, stream),
		"stream=%lx arg=10c detail=3", HEX(stream));
	settle();
}

static void array_copies(void)
{
	struct cudaChannelFormatDesc words = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
	cudaArray_t a = NULL, b = NULL, c = NULL;
	cudaMipmappedArray_t levels = NULL;
	CALL(cudaMallocArray, (&a, &words, WIDTH, 0, 0), "arg=%lx bytes=400", HEX(a));
	CALL(cudaMallocArray, (&b, &words, WIDTH, HEIGHT, 0), "arg=%lx bytes=4000", HEX(b));
	CALL(cudaMallocArray, (&c, &words, WIDTH, HEIGHT, 0), "arg=%lx bytes=4000", HEX(c));
	CALL_DS(cudaMemcpyToArray, (a, 0, 0, host, 128, cudaMemcpyHostToDevice), "arg=80 detail=1");
	CALL_DS(cudaMemcpyFromArray, (host, a, 0, 0, 132, cudaMemcpyDeviceToHost),
		"arg=84 detail=2");
	CALL_DS(cudaMemcpy2DToArray, (b, 0, 0, host, KIB, 64, 4, cudaMemcpyHostToDevice),
		"arg=100 detail=1");
	CALL_DS(cudaMemcpy2DFromArray, (host, KIB, b, 0, 0, 64, 4, cudaMemcpyDeviceToHost),
		"arg=100 detail=2");
	CALL_DS(cudaMemcpyArrayToArray, (c, 0, 0, b, 0, 0, 136, cudaMemcpyDeviceToDevice),
		"arg=88 detail=3");
	CALL_DS(cudaMemcpy2DArrayToArray, (c, 0, 0, b, 0, 0, 64, 4, cudaMemcpyDeviceToDevice),
		"arg=100 detail=3");
	CALL_SZ(cudaMemcpyToArrayAsync, (a, 0, 0, host, 140, cudaMemcpyHostToDevice, stream),
		"stream=%lx arg=8c detail=1", HEX(stream));
	CALL_SZ(cudaMemcpyFromArrayAsync, (host, a, 0, 0, 144, cudaMemcpyDeviceToHost, stream),
		"stream=%lx arg=90 detail=2", HEX(stream));
	CALL_SZ(cudaMemcpy2DToArrayAsync,
		(b, 0, 0, host, KIB, 64, 4, cudaMemcpyHostToDevice, stream),
		"stream=%lx arg=100 detail=1", HEX(stream));
	CALL_SZ(cudaMemcpy2DFromArrayAsync,
		(host, KIB, b, 0, 0, 64, 4, cudaMemcpyDeviceToHost, stream),
		"stream=%lx arg=100 detail=2", HEX(stream));
	settle();
	CALL(cudaFreeArray, (a), "arg=%lx", HEX(a));
	CALL(cudaMalloc3DArray, (&a, &words, (struct cudaExtent){ 16, 8, 4 }, 0),
	     "arg=%lx bytes=800", HEX(a));
	CALL(cudaFreeArray, (a), "arg=%lx", HEX(a));
	CALL(cudaMallocMipmappedArray, (&levels, &words, (struct cudaExtent){ 16, 8, 0 }, 1, 0),
	     "arg=%lx bytes=200", HEX(levels));
	CALL(cudaFreeMipmappedArray, (levels), "arg=%lx", HEX(levels));
}

static void shaped_copies(void)
{
	struct cudaMemcpy3DParms deep = { .srcPtr = { here, WIDTH, WIDTH, HEIGHT },
					  .dstPtr = { there, WIDTH, WIDTH, HEIGHT },
					  .extent = { WIDTH, HEIGHT, 2 },
					  .kind = cudaMemcpyDeviceToDevice };
	struct cudaMemcpy3DPeerParms peer = { .srcPtr = { here, WIDTH, WIDTH, HEIGHT },
					      .dstPtr = { there, WIDTH, WIDTH, HEIGHT },
					      .extent = { WIDTH, HEIGHT, 3 } };
	CALL_DS(cudaMemcpy2D, (here, WIDTH, host, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice),
		"arg=1000 detail=1");
	CALL_DS(cudaMemcpy3D, (&deep), "arg=2000 detail=3");
	CALL_DS(cudaMemcpy3DPeer, (&peer), "arg=3000 detail=5");
	CALL_SZ(cudaMemcpy2DAsync,
		(here, WIDTH, host, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice, stream),
		"stream=%lx arg=1000 detail=1", HEX(stream));
	CALL_SZ(cudaMemcpy3DAsync, (&deep, stream), "stream=%lx arg=2000 detail=3", HEX(stream));
	CALL_SZ(cudaMemcpy3DPeerAsync, (&peer, stream), "stream=%lx arg=3000 detail=5",
		HEX(stream));

	void *to[] = { there, there + 4096 };
	const void *from[] = { here, here + 4096 };
	size_t sizes[] = { 256, 512 }, first[] = { 0 };
	struct cudaMemcpyAttributes attributes = { .srcAccessOrder =
							   cudaMemcpySrcAccessOrderStream };
	CALL_SZ(cudaMemcpyBatchAsync, (to, from, sizes, 2, &attributes, first, 1, stream),
		"arg=300");
	struct cudaMemcpy3DBatchOp operation = {
		.src = { .type = cudaMemcpyOperandTypePointer, .op.ptr = { .ptr = here } },
		.dst = { .type = cudaMemcpyOperandTypePointer, .op.ptr = { .ptr = there } },
		.extent = { WIDTH, 1, 1 },
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
	};
	CALL_SZ(cudaMemcpy3DBatchAsync, (1, &operation, 0, stream), "cat=memcpy");
	settle();
}

static void sets(void)
{
	CALL_DS(cudaMemset, (here, 1, 100), "arg=64");
	CALL_DS(cudaMemset2D, (here, WIDTH, 1, 8, 4), "arg=20");
	CALL_SZ(cudaMemsetAsync, (here, 1, 100, stream), "stream=%lx arg=64", HEX(stream));
	CALL_SZ(cudaMemset2DAsync, (here, WIDTH, 1, 8, 4, stream), "stream=%lx arg=20",
		HEX(stream));
	settle();
}

static void streams_and_events(void)
{
	cudaStream_t other = NULL;
	cudaEvent_t begin = NULL, end = NULL;
	float ms = 0;
	CALL(cudaStreamCreate, (&other), "stream=%lx", HEX(other));
	CALL(cudaStreamDestroy, (other), "stream=%lx", HEX(other));
	CALL(cudaStreamCreateWithPriority, (&other, cudaStreamNonBlocking, 0), "stream=%lx",
	     HEX(other));
	CALL(cudaStreamDestroy, (other), "stream=%lx", HEX(other));
	CALL(cudaEventCreate, (&begin), "arg=%lx", HEX(begin));
	CALL(cudaEventCreateWithFlags, (&end, cudaEventBlockingSync), "arg=%lx", HEX(end));
	CALL_SZ(cudaEventRecord, (begin, stream), "stream=%lx arg=%lx", HEX(stream), HEX(begin));
	CALL_SZ(cudaEventRecordWithFlags, (end, stream, 0), "stream=%lx arg=%lx", HEX(stream),
		HEX(end));
	CALL_SZ(cudaStreamWaitEvent, (stream, end, 0), "stream=%lx arg=%lx", HEX(stream), HEX(end));
	CALL_SZ(cudaStreamSynchronize, (stream), "stream=%lx", HEX(stream));
	CALL(cudaEventSynchronize, (end), "arg=%lx", HEX(end));
	CALL_SZ(cudaStreamQuery, (stream), "stream=%lx", HEX(stream));
	CALL(cudaEventQuery, (end), "arg=%lx", HEX(end));
	CALL(cudaEventElapsedTime, (&ms, begin, end), "arg=%lx", HEX(begin));
	CALL(cudaEventDestroy, (begin), "arg=%lx", HEX(begin));
	CALL(cudaEventDestroy, (end), "arg=%lx", HEX(end));
}

int main(void)
{
	register_image();
	CALL(cudaInitDevice, (0, 0, 0), "arg=0");
	CALL(cudaSetDevice, (0), "arg=0");
	CALL(cudaProfilerStart, (), "cat=profiler");
	CALL(cudaProfilerStop, (), "cat=profiler");
	CALL(cudaStreamCreateWithFlags, (&stream, cudaStreamNonBlocking), "stream=%lx",
	     HEX(stream));
	device_memory();
	launches();
	graphs();
	pools();
	host_memory();
	linear_copies();
	array_copies();
	shaped_copies();
	sets();
	nodes();
	streams_and_events();
	CALL(cudaDeviceReset, (), "cat=control");
	return 0;
}
