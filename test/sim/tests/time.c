/*
 * Order and time: streams, default streams, blocking copies, syncs, events, graphs, host functions,
 * full queues.
 */
#include "test/sim/tests/check.h"

#include <math.h>
#include <unistd.h>

static void between(double value, double low, double high, const char *name)
{
	check(value >= low && value <= high, name, "%.1f us, not %.0f to %.0f", value, low, high);
}

static const void *half_ms, *one_ms;

/* For what must not wait for the device: longer than this thread goes without a processor. */
static const void *long_kernel;
#define LONG_US 100000
#define AT_ONCE (0.9 * LONG_US)

/*
 * Measures the device time of `work` on two streams, and the minimum host time of launching it and
 * waiting for it.
 */
static double timed(void (*work)(cudaStream_t, cudaStream_t), cudaStream_t a, cudaStream_t b)
{
	double best = 1e9;
	for (int i = 0; i < 5 * TRIES; i++) {
		NEED(cudaDeviceSynchronize());
		double t = now_us();
		work(a, b);
		NEED(cudaDeviceSynchronize());
		t = now_us() - t;
		best = t < best ? t : best;
	}
	return best;
}

static void on_one(cudaStream_t a, cudaStream_t b)
{
	(void)b;
	launch(half_ms, a);
	launch(half_ms, a);
}

static void on_two(cudaStream_t a, cudaStream_t b)
{
	launch(half_ms, a);
	launch(half_ms, b);
}

static void streams(void)
{
	cudaStream_t a, b, free_a, free_b;
	NEED(cudaStreamCreate(&a));
	NEED(cudaStreamCreate(&b));
	NEED(cudaStreamCreateWithFlags(&free_a, cudaStreamNonBlocking));
	NEED(cudaStreamCreateWithFlags(&free_b, cudaStreamNonBlocking));
	between(timed(on_one, a, b), 1000, 1150, "one stream keeps order");
	between(timed(on_two, a, b), 500, 650, "two streams overlap");
	between(timed(on_two, NULL, a), 1000, 1150, "legacy stream, then a blocking one: in order");
	between(timed(on_two, a, NULL), 1000, 1150,
		"a blocking stream, then the legacy one: in order");
	between(timed(on_two, NULL, free_a), 500, 650, "legacy and non-blocking stream overlap");
	between(timed(on_two, cudaStreamPerThread, a), 500, 650,
		"per-thread default stream and another overlap");
	between(timed(on_two, cudaStreamPerThread, NULL), 1000, 1150,
		"per-thread and legacy stream: in order");
	between(timed(on_two, free_a, free_b), 500, 650, "two non-blocking streams overlap");
	launch(long_kernel, free_a);
	double t = now_us();
	NEED(cudaStreamSynchronize(free_b));
	check(now_us() - t < AT_ONCE, "a stream's sync waits for that stream only", "%.0f us",
	      now_us() - t);
	check(cudaStreamQuery(free_a) == cudaErrorNotReady, "query of a busy stream", "ready");
	NEED(cudaStreamSynchronize(free_a));
	check(cudaStreamQuery(free_a) == cudaSuccess, "query of an idle stream", "not ready");
	(void)cudaGetLastError();
}

/*
 * The time from `begin` to `end` of two kernels on one stream, or of which the second is on another
 * one that waits for the first.
 */
static float between_events(cudaStream_t a, cudaStream_t b, cudaEvent_t begin, cudaEvent_t middle,
			    cudaEvent_t end)
{
	float best = 1e9f, ms = 0;
	for (int i = 0; i < TRIES; i++) {
		NEED(cudaEventRecord(begin, a));
		launch(half_ms, a);
		if (b != a) {
			NEED(cudaEventRecord(middle, a));
			NEED(cudaStreamWaitEvent(b, middle, 0));
		}
		launch(half_ms, b);
		NEED(cudaEventRecord(end, b));
		NEED(cudaEventSynchronize(end));
		NEED(cudaEventElapsedTime(&ms, begin, end));
		best = ms < best ? ms : best;
	}
	return best;
}

static void events(void)
{
	cudaStream_t a, b;
	cudaEvent_t begin, end, untimed;
	float ms = 0;
	NEED(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	NEED(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	NEED(cudaEventCreate(&begin));
	NEED(cudaEventCreate(&end));
	NEED(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
	launch(long_kernel, a);
	NEED(cudaEventRecord(end, a));
	check(cudaEventQuery(end) == cudaErrorNotReady, "query of an event ahead", "ready");
	NEED(cudaEventSynchronize(end));
	ms = between_events(a, a, begin, untimed, end);
	check(ms >= 1.0f && ms < 1.2f, "events measure the work between them", "%f ms", (double)ms);
	NEED(cudaEventRecord(untimed, a));
	check(cudaEventElapsedTime(&ms, begin, untimed) == cudaErrorInvalidResourceHandle,
	      "an untimed event has no time", "it has");
	ms = between_events(a, b, begin, untimed, end);
	check(ms >= 1.0f && ms < 1.2f, "a stream that waits for an event", "%f ms", (double)ms);
}

static void copies(void)
{
	enum { BYTES = 25000000 }; /* 1 ms at 25 GB/s */
	static char pageable[BYTES];
	char *device, *pinned;
	cudaStream_t stream;
	NEED(cudaMalloc((void **)&device, BYTES));
	NEED(cudaMallocHost((void **)&pinned, BYTES));
	NEED(cudaStreamCreate(&stream));
	memset(pageable, 1, BYTES);
	memset(pinned, 1, BYTES);
	launch(long_kernel, stream);
	double t = now_us();
	NEED(cudaMemcpyAsync(pinned, device, 1000, cudaMemcpyDeviceToHost, stream));
	double pinned_us = now_us() - t;
	NEED(cudaStreamSynchronize(stream));
	check(pinned_us < AT_ONCE, "async copy to pinned memory does not block", "%.0f us",
	      pinned_us);
	t = now_us();
	launch(one_ms, stream);
	NEED(cudaMemcpyAsync(pageable, device, 1000, cudaMemcpyDeviceToHost, stream));
	check(now_us() - t > 900, "async copy to pageable memory blocks", "%.0f us", now_us() - t);
	launch(long_kernel, stream);
	t = now_us();
	NEED(cudaMemcpyAsync(device, pageable, 1000, cudaMemcpyHostToDevice, stream));
	double small_us = now_us() - t;
	NEED(cudaStreamSynchronize(stream));
	check(small_us < AT_ONCE, "a small pageable copy in is staged and does not block",
	      "%.0f us", small_us);
	t = now_us();
	launch(one_ms, stream);
	NEED(cudaMemcpyAsync(device, pageable, BYTES, cudaMemcpyHostToDevice, stream));
	check(now_us() - t > 1900, "a large pageable copy in blocks to its end", "%.0f us",
	      now_us() - t);
	t = now_us();
	launch(one_ms, stream);
	NEED(cudaMemcpy(pinned, device, 1000, cudaMemcpyDeviceToHost));
	check(now_us() - t > 900, "cudaMemcpy waits for blocking streams", "%.0f us", now_us() - t);
	launch(long_kernel, stream);
	t = now_us();
	NEED(cudaMemcpy(device, device + 4096, 1000, cudaMemcpyDeviceToDevice));
	double inside_us = now_us() - t;
	NEED(cudaDeviceSynchronize());
	check(inside_us < AT_ONCE, "cudaMemcpy within the device does not block", "%.0f us",
	      inside_us);
	launch(long_kernel, stream);
	t = now_us();
	NEED(cudaMemset(device, 0, BYTES));
	check(now_us() - t < AT_ONCE, "cudaMemset does not block", "%.0f us", now_us() - t);
	NEED(cudaDeviceSynchronize());
	t = now_us();
	launch(one_ms, stream);
	NEED(cudaFree(device));
	check(now_us() - t > 900, "cudaFree waits for the device", "%.0f us", now_us() - t);
	NEED(cudaFreeHost(pinned));
}

static void wait_accuracy(void)
{
	double best = 1e9;
	for (int i = 0; i < 50; i++) {
		NEED(cudaDeviceSynchronize());
		launch(half_ms, NULL);
		double t = now_us();
		NEED(cudaDeviceSynchronize());
		double off = now_us() - t - 504; /* latency and kernel */
		best = fabs(off) < fabs(best) ? off : best;
	}
	check(fabs(best) < 3, "a sync of 504 us takes 504 us", "%.1f us off", best);
}

static int order, seen_at;

static void host_function(void *data)
{
	(void)data;
	usleep(LONG_US);
	seen_at = __atomic_add_fetch(&order, 1, __ATOMIC_SEQ_CST);
}

static void host_functions(void)
{
	cudaStream_t stream, other;
	cudaEvent_t event, begin;
	char *device, *pinned;
	float ms;
	NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	NEED(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	NEED(cudaEventCreate(&event));
	NEED(cudaEventCreate(&begin));
	NEED(cudaMalloc((void **)&device, 4096));
	NEED(cudaMallocHost((void **)&pinned, 4096));
	NEED(cudaEventRecord(begin, stream));
	launch(half_ms, stream);
	double t = now_us();
	NEED(cudaLaunchHostFunc(stream, host_function, NULL));
	launch(half_ms, stream);
	NEED(cudaMemcpyAsync(pinned, device, 4096, cudaMemcpyDeviceToHost, stream));
	NEED(cudaEventRecord(event, stream));
	NEED(cudaStreamWaitEvent(other, event, 0));
	double submit_us = now_us() - t;
	NEED(cudaStreamSynchronize(other));
	int mine = __atomic_add_fetch(&order, 1, __ATOMIC_SEQ_CST);
	check(submit_us < AT_ONCE, "work behind a host function is only queued", "%.0f us",
	      submit_us);
	check(seen_at == 1 && mine == 2, "a host function runs before what waits for it", "%d %d",
	      seen_at, mine);
	NEED(cudaEventElapsedTime(&ms, begin, event));
	check(ms >= 1.0f + LONG_US / 1000.0f && ms < 10 * LONG_US / 1000.0f,
	      "work goes on when the host function has ended", "%f ms", (double)ms);
}

/* The first half of a diamond: work on `a`, then work on `b` that waits for it. */
static void launch_fork(cudaStream_t a, cudaStream_t b, cudaEvent_t fork)
{
	launch(half_ms, a);
	NEED(cudaEventRecord(fork, a));
	NEED(cudaStreamWaitEvent(b, fork, 0));
	launch(half_ms, b);
}

/* The second: more work on `a`, then some that waits for `b`, too. */
static void launch_join(cudaStream_t a, cudaStream_t b, cudaEvent_t join)
{
	launch(half_ms, a);
	NEED(cudaEventRecord(join, b));
	NEED(cudaStreamWaitEvent(a, join, 0));
	launch(half_ms, a);
}

static void graphs(void)
{
	cudaStream_t a, b;
	cudaEvent_t fork, join, begin, end;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	size_t nodes = 0, edges = 0;
	float best = 1e9f, ms;
	NEED(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	NEED(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	NEED(cudaEventCreate(&fork));
	NEED(cudaEventCreate(&join));
	NEED(cudaEventCreate(&begin));
	NEED(cudaEventCreate(&end));
	NEED(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	launch_fork(a, b, fork);
	launch_join(a, b, join);
	check(cudaStreamSynchronize(b) == cudaErrorStreamCaptureUnsupported,
	      "no sync during capture", "it worked");
	check(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated,
	      "the sync spoils the capture", "it did not");
	NEED(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
	launch_fork(a, b, fork);
	check(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureUnjoined,
	      "a stream that is not joined", "joined");
	NEED(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
	launch_fork(a, b, fork);
	launch_join(a, b, join);
	NEED(cudaStreamEndCapture(a, &graph));
	NEED(cudaGraphGetNodes(graph, NULL, &nodes));
	NEED(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
	check(nodes == 4 && edges == 4, "capture across two streams makes a diamond",
	      "%zu nodes, %zu edges", nodes, edges);
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < TRIES; i++) {
		NEED(cudaEventRecord(begin, a));
		NEED(cudaGraphLaunch(exec, a));
		NEED(cudaGraphLaunch(exec, a));
		NEED(cudaEventRecord(end, a));
		NEED(cudaStreamSynchronize(a));
		NEED(cudaEventElapsedTime(&ms, begin, end));
		best = ms < best ? ms : best;
	}
	check(best >= 3.0f && best < 3.2f, "a diamond of four half milliseconds takes 1.5, twice 3",
	      "%f ms", (double)best);
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaGraphDestroy(graph));
	(void)cudaGetLastError();
}

static void added(void *data)
{
	*(int *)data += 1;
}

static void explicit_graph(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t set, copy, host, kernel;
	static int count, value[4], out[4];
	char *device;
	NEED(cudaMalloc((void **)&device, 16));
	struct cudaMemsetParams set_params = {
		.dst = device, .value = 0x01020304, .elementSize = 4, .width = 4, .height = 1
	};
	struct cudaHostNodeParams host_params = { .fn = added, .userData = &count };
	struct cudaKernelNodeParams kernel_params = { .func = (void *)half_ms,
						      .gridDim = { 1, 1, 1 },
						      .blockDim = { 1, 1, 1 } };
	NEED(cudaGraphCreate(&graph, 0));
	NEED(cudaGraphAddKernelNode(&kernel, graph, NULL, 0, &kernel_params));
	NEED(cudaGraphAddMemsetNode(&set, graph, &kernel, 1, &set_params));
	NEED(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, value, device, 16,
				      cudaMemcpyDeviceToHost));
	NEED(cudaGraphAddHostNode(&host, graph, &copy, 1, &host_params));
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		NEED(cudaGraphLaunch(exec, NULL));
	NEED(cudaDeviceSynchronize());
	check(count == 3 && value[0] == 0x01020304 && value[3] == 0x01020304,
	      "nodes of every sort run on replay", "%d host calls, %x", count, (unsigned)value[3]);
	NEED(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, out, device, 16,
						cudaMemcpyDeviceToHost));
	NEED(cudaGraphLaunch(exec, NULL));
	NEED(cudaDeviceSynchronize());
	check(out[2] == 0x01020304, "an executable graph's node can be changed", "%x",
	      (unsigned)out[2]);
}

static void queue(void)
{
	const void *kernel = kernel_named("fill_20us");
	double least = 1e9, most = 0, t, submit;
	for (int i = 0; i < TRIES; i++) {
		t = now_us();
		for (int k = 0; k < 1200; k++)
			launch(kernel, NULL);
		submit = now_us() - t;
		NEED(cudaDeviceSynchronize());
		double whole = now_us() - t;
		least = whole < least ? whole : least;
		most = whole - submit > most ? whole - submit : most;
	}
	/*
	 * 1200 launches of 3 us are 3.6 ms; the 1025th waits for the first to end, and so on: 176
	 * kernels of 20 us.
	 */
	check(least > 24000 && most > 15000, "launches run ahead of the device",
	      "%.0f us in all, %.0f of them after the launches", least, most);
	t = now_us();
	for (int i = 0; i < 3000; i++)
		launch(kernel, NULL);
	submit = now_us() - t;
	check(submit > 1900 * 20.0, "a full queue makes the host wait", "%.0f us for 3000 launches",
	      submit);
	NEED(cudaDeviceSynchronize());
}

/* A thread may change its device while the old one works. */
static void devices(void)
{
	NEED(cudaSetDevice(1)); /* makes the device's context */
	NEED(cudaSetDevice(0));
	launch(long_kernel, NULL);
	double t = now_us();
	NEED(cudaSetDevice(1));
	NEED(cudaSetDevice(0));
	between(now_us() - t, 0, AT_ONCE, "cudaSetDevice does not wait");
	NEED(cudaDeviceSynchronize());
}

int main(void)
{
	setenv("PROFSIM_DEVICES", "2", 1);
	half_ms = kernel_named("work_500us");
	one_ms = kernel_named("_Z10work_1000usPfi");
	long_kernel = kernel_named("work_100000us");
	streams();
	events();
	copies();
	wait_accuracy();
	host_functions();
	graphs();
	explicit_graph();
	queue();
	devices();
	return check_failed;
}
