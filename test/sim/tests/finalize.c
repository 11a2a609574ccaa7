/*
 * What cuptiFinalize breaks and what it mends. Usage: finalize MODE, one of graphs, ids, copies.
 */
#include "test/sim/tests/check.h"

#include <cupti.h>

static void buffer_requested(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*bytes = 1 << 20;
	*buffer = aligned_alloc(8, *bytes);
	*most = 0;
}

static void buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			     size_t valid)
{
	(void)context, (void)stream, (void)bytes, (void)valid;
	free(buffer);
}

static void start(void)
{
	NEED(cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static cudaGraphExec_t graph_make(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launch(kernel_named("in_a_graph"), stream);
	NEED(cudaStreamEndCapture(stream, &graph));
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	NEED(cudaGraphDestroy(graph));
	return exec;
}

static void check_graphs(void)
{
	cudaStream_t stream;
	cudaEvent_t event;
	void *memory;
	NEED(cudaStreamCreate(&stream));
	NEED(cudaEventCreate(&event));
	cudaGraphExec_t before = graph_make(stream), gone = graph_make(stream);
	NEED(cuptiFinalize());
	check(!cudaGraphLaunch(before, stream), "without CUPTI its end breaks no graph", "719");
	start();
	NEED(cudaGraphLaunch(gone, stream));
	NEED(cudaStreamSynchronize(stream));
	NEED(cudaGraphExecDestroy(gone));
	NEED(cuptiFinalize());
	cudaGraphExec_t behind = graph_make(stream);
	check(!cudaGraphLaunch(behind, stream) && !cudaDeviceSynchronize(),
	      "a graph made behind CUPTI's end runs", "it does not");
	int rc = cudaGraphLaunch(before, stream);
	check(rc == cudaErrorLaunchFailure, "one made before fails", "%d", rc);
	rc = cudaGetLastError();
	check(rc == cudaErrorLaunchFailure, "it is the last error", "%d", rc);
	int stream_rc = cudaStreamSynchronize(stream), device_rc = cudaDeviceSynchronize(),
	    event_rc = cudaEventQuery(event), malloc_rc = cudaMalloc(&memory, 64),
	    launch_rc = cudaGraphLaunch(behind, stream);
	check(stream_rc == 719 && device_rc == 719 && event_rc == 719 && malloc_rc == 719 &&
		      launch_rc == 719,
	      "and every later call's", "%d %d %d %d %d", stream_rc, device_rc, event_rc, malloc_rc,
	      launch_rc);
	int device = -1;
	check(!cudaGetDevice(&device) && !device, "the device is current still", "%d", device);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "graphs"))
		check_graphs();
	else
		check(false, "mode", "there is no %s", mode);
	return check_failed;
}
