// Two streams, an event between them, a graph launched in each iteration, memory from the stream's
// pool, a small copy back.
// usage: streams STEPS
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { N = 1 << 20, THREADS = 256, NODES = 5 };

__global__ void halve(float *x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	x[i] = x[i] * 0.5f + 1;
}

__global__ void add(float *x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	x[i] += 2;
}

static cudaGraphExec_t captured(float *x, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t ready;
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	for (int i = 0; i < NODES; i++)
		halve<<<N / THREADS, THREADS, 0, stream>>>(x);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&ready, graph, 0);
	return ready;
}

int main(int, char **argv)
{
	float *on_device, *on_host;
	cudaMalloc(&on_device, N * sizeof(float));
	cudaMallocHost(&on_host, N * sizeof(float));
	for (int i = 0; i < N; i++)
		on_host[i] = 0;
	cudaStream_t compute, copies;
	cudaStreamCreate(&compute);
	cudaStreamCreate(&copies);
	cudaEvent_t there;
	cudaEventCreate(&there);
	cudaGraphExec_t graph = captured(on_device, compute);
	for (int step = 0; step < atoi(argv[1]); step++) {
		void *scratch;
		cudaMemcpyAsync(on_device, on_host, N * sizeof(float), cudaMemcpyHostToDevice,
				copies);
		cudaEventRecord(there, copies);
		cudaStreamWaitEvent(compute, there, 0);
		add<<<N / THREADS, THREADS, 0, compute>>>(on_device);
		cudaGraphLaunch(graph, compute);
		cudaMallocAsync(&scratch, N, compute);
		cudaMemsetAsync(scratch, 0, N, compute);
		cudaFreeAsync(scratch, compute);
		cudaMemcpyAsync(on_host, on_device, 16 * sizeof(float), cudaMemcpyDeviceToHost,
				compute);
		cudaStreamSynchronize(compute);
	}
	printf("%s %.4f\n", cudaGetErrorString(cudaGetLastError()), on_host[0]);
	return 0;
}
