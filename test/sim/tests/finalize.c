/*
 * What cuptiFinalize breaks and what it repairs. Usage: finalize MODE, one of graphs, ids, copies.
 */
#include "test/sim/tests/check.h"

#include <cupti.h>
#include <pthread.h>

static int kernels, copies, externals;
static uint32_t least_id, most_id;

static void buffer_requested(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*bytes = 1 << 20;
	*buffer = aligned_alloc(8, *bytes);
	*most = 0;
}

static void buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			     size_t valid)
{
	CUpti_Activity *r = NULL;
	(void)context, (void)stream, (void)bytes;
	while (!cuptiActivityGetNextRecord(buffer, valid, &r)) {
		externals += r->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
		copies += r->kind == CUPTI_ACTIVITY_KIND_MEMCPY;
		if (r->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		uint32_t id = ((CUpti_ActivityKernel5 *)r)->correlationId;
		kernels++;
		least_id = id < least_id ? id : least_id;
		most_id = id > most_id ? id : most_id;
	}
	free(buffer);
}

static void start(void)
{
	NEED(cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* Makes `launches` launches and a wait, no other call. */
static void record(const void *kernel, int launches)
{
	kernels = copies = externals = 0;
	least_id = UINT32_MAX;
	most_id = 0;
	for (int i = 0; i < launches; i++)
		launch(kernel, NULL);
	NEED(cudaDeviceSynchronize());
	NEED(cuptiActivityFlushAll(0));
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

static bool stop;

static void *launch_on(void *kernel)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		launch(kernel, NULL);
	return NULL;
}

static void start_ids(void)
{
	start();
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
}

static void check_ids(void)
{
	const void *kernel = kernel_named("work_2us");
	pthread_t thread;
	launch(kernel, NULL);
	start_ids();
	record(kernel, 3);
	uint32_t last = most_id;
	NEED(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	record(kernel, 1);
	check(kernels == 1 && least_id > last, "kinds off and on: ids go on", "%u behind %u",
	      least_id, last);
	NEED(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 7));
	for (int i = 0; i < 2; i++) {
		NEED(cuptiFinalize());
		launch(kernel, NULL);
		start_ids();
		launch(kernel, NULL);
		NEED(cuptiFinalize());
		start_ids();
		record(kernel, 2);
		check(kernels == 2 && least_id == 1, "behind cuptiFinalize they start at 1",
		      "%d kernels from %u", kernels, least_id);
		check(externals == 3, "each call has its external id", "%d of 3", externals);
	}
	NEED(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL));
	NEED(pthread_create(&thread, NULL, launch_on, (void *)kernel));
	for (int i = 0; i < 1000; i++) {
		NEED(cuptiFinalize());
		start_ids();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	record(kernel, 1);
	check(kernels > 0, "calls of another thread meanwhile do no harm", "no kernel");
}

static char *device, *pinned;

static void on(int kind)
{
	NEED(cuptiActivityEnable((CUpti_ActivityKind)kind));
}

static void off(int kind)
{
	NEED(cuptiActivityDisable((CUpti_ActivityKind)kind));
}

/* Copies behind a kernel of 100 ms, so that they are under way when this returns. */
static void copy_late(enum cudaMemcpyKind sort)
{
	launch(kernel_named("ahead_100000us"), NULL);
	NEED(cudaMemcpyAsync(device, sort == cudaMemcpyDeviceToDevice ? device + 64 : pinned, 64,
			     sort, NULL));
}

/*
 * Switches both kinds on and runs one kernel and one copy: `wanted` kernels are recorded, and the
 * copy.
 */
static void check_both(int wanted, const char *name)
{
	const void *kernel = kernel_named("work_2us");
	NEED(cudaDeviceSynchronize());
	NEED(cuptiActivityFlushAll(0));
	on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	on(CUPTI_ACTIVITY_KIND_MEMCPY);
	NEED(cudaMemcpyAsync(device, device + 64, 64, cudaMemcpyDeviceToDevice, NULL));
	record(kernel, 1);
	check(kernels == wanted && copies == 1, name, "%d kernels, %d copies", kernels, copies);
}

static void wait_for_stop(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		continue;
}

static void check_harmless(void)
{
	off(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	off(CUPTI_ACTIVITY_KIND_MEMCPY);
	check_both(1, "kinds off and on, no copy under way");
	copy_late(cudaMemcpyHostToDevice);
	off(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	check_both(1, "off while a copy to the device is");
	off(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	copy_late(cudaMemcpyDeviceToDevice);
	off(CUPTI_ACTIVITY_KIND_MEMCPY);
	check_both(1, "off while one within it is, no kernels");
	off(CUPTI_ACTIVITY_KIND_MEMCPY);
	copy_late(cudaMemcpyDeviceToDevice);
	on(CUPTI_ACTIVITY_KIND_MEMCPY);
	off(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	check_both(1, "off while one within it is, not recorded");
	copy_late(cudaMemcpyDeviceToDevice);
	off(CUPTI_ACTIVITY_KIND_RUNTIME);
	off(CUPTI_ACTIVITY_KIND_KERNEL);
	check_both(1, "other kinds off");
}

static void check_copies(void)
{
	const void *kernel = kernel_named("work_2us");
	NEED(cudaMalloc((void **)&device, 128));
	NEED(cudaMallocHost((void **)&pinned, 64));
	start();
	check_both(1, "both on");
	check_harmless();
	copy_late(cudaMemcpyDeviceToDevice);
	off(CUPTI_ACTIVITY_KIND_MEMCPY);
	check_both(0, "off while a recorded one within the device is");
	off(CUPTI_ACTIVITY_KIND_MEMCPY);
	record(kernel, 1);
	check(kernels == 1, "kernels alone are recorded then", "%d", kernels);
	check_both(0, "with copies they are not");
	NEED(cuptiFinalize());
	start();
	check_both(1, "cuptiFinalize repairs it");
	NEED(cudaLaunchHostFunc(NULL, wait_for_stop, NULL));
	copy_late(cudaMemcpyDeviceToDevice);
	off(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	check_both(0, "after a host function too");
	NEED(cuptiFinalize());
	start();
	check_both(1, "and repaired too");
	NEED(cudaLaunchHostFunc(NULL, wait_for_stop, NULL));
	copy_late(cudaMemcpyDeviceToDevice);
	NEED(cudaDeviceSynchronize());
	off(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	check_both(1, "not behind its end");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "graphs"))
		check_graphs();
	else if (!strcmp(mode, "ids"))
		check_ids();
	else if (!strcmp(mode, "copies"))
		check_copies();
	else
		check(false, "mode", "there is no %s", mode);
	return check_failed;
}
