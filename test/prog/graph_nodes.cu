// CUDA graphs, made in several ways, replayed in steps. Every node has a kernel of its own number,
// and the line that made it carries this number: // node N. So a test can check every line.
// usage: graph_nodes WAY STEPS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <cuda_runtime.h>

template <int N> __global__ void node_5us(float *x)
{
	x[N] += N;
}

__global__ void plain_5us(float *x)
{
	x[0] += 1;
}

#define CHECK(call)                                                             \
	do {                                                                    \
		cudaError_t e_ = (call);                                        \
		if (e_) {                                                       \
			printf("%s: %s\n", #call, cudaGetErrorName(e_));        \
			exit(1);                                                \
		}                                                               \
	} while (0)

static float *x;
static cudaStream_t stream, other;

static void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal)
{
	CHECK(cudaStreamBeginCapture(stream, mode));
}

static cudaGraph_t end()
{
	cudaGraph_t graph;
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraphExec_t made(cudaGraph_t graph)
{
	cudaGraphExec_t exec;
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

/* ---- The ways ---- */

static cudaGraph_t one_stream()
{
	begin();
	node_5us<1><<<1, 32, 0, stream>>>(x);			     // node 1
	CHECK(cudaMemsetAsync(x, 0, 4096, stream));		     // node memset
	node_5us<2><<<2, 32, 0, stream>>>(x);			     // node 2
	CHECK(cudaMemcpyAsync(x, x + 1024, 512, cudaMemcpyDeviceToDevice, // node memcpy
			      stream));
	node_5us<3><<<1, 64, 0, stream>>>(x);			     // node 3
	return end();
}

static cudaGraph_t two_streams()
{
	cudaEvent_t fork, join;
	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	begin();
	node_5us<4><<<1, 32, 0, stream>>>(x); // node 4
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(other, fork, 0));
	node_5us<5><<<1, 32, 0, other>>>(x);  // node 5
	node_5us<6><<<1, 32, 0, stream>>>(x); // node 6
	node_5us<7><<<1, 32, 0, other>>>(x);  // node 7
	CHECK(cudaEventRecord(join, other));
	CHECK(cudaStreamWaitEvent(stream, join, 0));
	node_5us<8><<<1, 32, 0, stream>>>(x); // node 8
	return end();
}

/* A thread captures on a stream that joined, while the first thread waits. */
static cudaGraph_t two_threads()
{
	cudaEvent_t fork, join;
	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	begin(cudaStreamCaptureModeRelaxed);
	node_5us<9><<<1, 32, 0, stream>>>(x); // node 9
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(other, fork, 0));
	std::thread([] {
		node_5us<10><<<1, 32, 0, other>>>(x); // node 10
		node_5us<11><<<1, 32, 0, other>>>(x); // node 11
	}).join();
	CHECK(cudaEventRecord(join, other));
	CHECK(cudaStreamWaitEvent(stream, join, 0));
	node_5us<12><<<1, 32, 0, stream>>>(x); // node 12
	return end();
}

/* Kernels that differ in nothing. */
static cudaGraph_t alike()
{
	begin();
	node_5us<13><<<1, 32, 0, stream>>>(x); // node 13
	node_5us<13><<<1, 32, 0, stream>>>(x); // node 13
	node_5us<13><<<1, 32, 0, stream>>>(x); // node 13
	node_5us<13><<<1, 32, 0, stream>>>(x); // node 13
	return end();
}

static cudaGraph_t kernel_node(cudaGraph_t graph, cudaGraphNode_t *nodes)
{
	cudaKernelNodeParams p = {};
	cudaMemsetParams set = {};
	void *args[] = { &x };
	p.func = (void *)node_5us<14>;
	p.gridDim = dim3(3);
	p.blockDim = dim3(32);
	p.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&nodes[0], graph, NULL, 0, &p)); // node 14
	p.func = (void *)node_5us<15>;
	CHECK(cudaGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &p)); // node 15
	set.dst = x;
	set.elementSize = 4;
	set.width = 64;
	set.height = 1;
	CHECK(cudaGraphAddMemsetNode(&nodes[2], graph, &nodes[1], 1, &set)); // node memset
	CHECK(cudaGraphAddMemcpyNode1D(&nodes[3], graph, &nodes[2], 1, x, x + 256, // node memcpy
				       256, cudaMemcpyDeviceToDevice));
	return graph;
}

static cudaGraph_t explicit_nodes()
{
	cudaGraphNode_t nodes[4];
	cudaGraph_t graph;
	CHECK(cudaGraphCreate(&graph, 0));
	return kernel_node(graph, nodes);
}

static cudaGraph_t added_child()
{
	cudaGraphNode_t node;
	cudaGraph_t inner = one_stream(), graph = alike();
	CHECK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, inner));
	CHECK(cudaGraphDestroy(inner));
	return graph;
}

/* A graph of the same shape, whose work replaces that of another one. */
static cudaGraph_t like_alike()
{
	begin();
	node_5us<20><<<2, 32, 0, stream>>>(x); // node 20
	node_5us<21><<<1, 32, 0, stream>>>(x); // node 21
	node_5us<20><<<1, 32, 0, stream>>>(x); // node 20
	node_5us<21><<<1, 64, 0, stream>>>(x); // node 21
	return end();
}

static cudaGraph_t cloned()
{
	cudaGraph_t graph = two_streams(), copy;
	CHECK(cudaGraphClone(&copy, graph));
	CHECK(cudaGraphDestroy(graph));
	return copy;
}

static void broken()
{
	cudaGraph_t graph = NULL;
	begin();
	plain_5us<<<1, 32, 0, stream>>>(x);
	printf("a wait in a capture: %s\n", cudaGetErrorName(cudaStreamSynchronize(stream)));
	printf("last error: %s\n", cudaGetErrorName(cudaGetLastError()));
	printf("the next launch: ");
	plain_5us<<<1, 32, 0, stream>>>(x);
	printf("%s\n", cudaGetErrorName(cudaGetLastError()));
	printf("the end: %s\n", cudaGetErrorName(cudaStreamEndCapture(stream, &graph)));
	printf("graph: %s, %s\n", graph ? "some" : "none", cudaGetErrorName(cudaGetLastError()));
}

/* ---- Steps ---- */

static void launch_all(cudaGraphExec_t *execs, int n, int step)
{
	plain_5us<<<4, 32, 0, stream>>>(x);
	for (int i = 0; i < n; i++)
		CHECK(cudaGraphLaunch(execs[i], stream));
	CHECK(cudaStreamSynchronize(stream));
	(void)step;
}

static void replay(cudaGraph_t graph, int steps)
{
	cudaGraphExec_t exec = made(graph);
	CHECK(cudaGraphDestroy(graph));
	for (int i = 0; i < steps; i++)
		launch_all(&exec, 1, i);
	CHECK(cudaGraphExecDestroy(exec));
}

/* Two executables of one graph, and one of another graph. */
static void replay_twice(int steps)
{
	cudaGraph_t graph = one_stream(), second = two_streams();
	cudaGraphExec_t execs[3] = { made(graph), made(graph), made(second) };
	for (int i = 0; i < steps; i++)
		launch_all(execs, 3, i);
}

/* A server whose requests launch one graph for the prompt, and another one for each token. */
static void replay_requests(int steps)
{
	cudaGraphExec_t execs[4] = { made(two_streams()), made(one_stream()) };
	execs[2] = execs[3] = execs[1];
	for (int i = 0; i < steps; i++)
		launch_all(execs, i % 4 == 0 ? 0 : 1 + i % 4, i);
}

/* Half of the steps replay one graph, and half of them another one with the same handles. */
static void replay_anew(int steps)
{
	replay(one_stream(), steps / 2);
	replay(two_streams(), steps / 2);
}

static void replay_updated(int steps)
{
	cudaGraph_t graph = alike(), by = like_alike();
	cudaGraphExec_t exec = made(graph);
	for (int i = 0; i < steps; i++) {
		if (i == steps / 2) {
			cudaGraphExecUpdateResultInfo info;
			CHECK(cudaGraphExecUpdate(exec, by, &info));
		}
		launch_all(&exec, 1, i);
	}
}

/* 50 graphs of 200 nodes. */
static void replay_many(int steps)
{
	cudaGraphExec_t execs[50];
	for (auto &exec : execs) {
		begin();
		for (int i = 0; i < 200; i++)
			plain_5us<<<1, 32, 0, stream>>>(x);
		exec = made(end());
	}
	for (int i = 0; i < steps; i++)
		launch_all(execs, 50, i);
}

static void replay_broken(int steps)
{
	broken();
	replay(one_stream(), steps);
}

int main(int n, char **arguments)
{
	static const struct {
		const char *name;
		cudaGraph_t (*make)();
		void (*run)(int);
	} ways[] = {
		{ "one_stream", one_stream, NULL }, { "two_streams", two_streams, NULL },
		{ "two_threads", two_threads, NULL }, { "alike", alike, NULL },
		{ "explicit", explicit_nodes, NULL },
		{ "added_child", added_child, NULL }, { "cloned", cloned, NULL },
		{ "twice", NULL, replay_twice }, { "anew", NULL, replay_anew },
		{ "updated", NULL, replay_updated }, { "broken", NULL, replay_broken },
		{ "many", NULL, replay_many }, { "requests", NULL, replay_requests },
	};
	int steps = n > 2 ? atoi(arguments[2]) : 40;
	CHECK(cudaMalloc(&x, 1 << 20));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	for (auto &way : ways) {
		if (n < 2 || strcmp(way.name, arguments[1]))
			continue;
		if (way.make)
			replay(way.make(), steps);
		else
			way.run(steps);
		puts("done");
		return 0;
	}
	puts("usage: graph_nodes WAY STEPS");
	return 2;
}
