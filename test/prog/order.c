/*
 * Calls that pairing by order could get wrong, with identical kernels where that makes it harder:
 *   order irregular   calls that make no work between launches: of no bytes, from host to host,
 *                     refused ones
 *   order devices     two devices, a thread on each
 *   order own         the default streams of two threads
 *   order again       two threads whose streams are destroyed and made again
 *   order graphs      graphs and launches alternately
 *   order windows     cudaProfilerStart and Stop around some of the launches
 *   order ahead       steps that wait for nothing while the GPU lags far behind; a launch's shared
 *                     memory is its step's number
 */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "test/prog/known.h"
#include "test/prog/modes.h"
#include "test/prog/work.h"

enum { ITERATIONS = 60, THREADS = 2 };

static const void *kernel, *other;

static int irregular(void)
{
	char from[64] = "", to[64];
	void *p;
	MUST(cudaMalloc(&p, 4096));
	for (unsigned i = 0; i < ITERATIONS; i++) {
		work_launch(kernel, 1, NULL);
		if (i % 3 == 0)
			MUST(cudaMemcpyAsync(p, from, 0, cudaMemcpyHostToDevice, NULL));
		if (i % 4 == 1)
			MUST(cudaMemsetAsync(p, 0, 0, NULL));
		if (i % 6 == 3)
			MUST(cudaMemcpy(to, p, 0, cudaMemcpyDeviceToHost));
		work_launch(kernel, 1, NULL);
		if (i % 5 == 2)
			MUST(cudaMemcpy(to, from, sizeof(to), cudaMemcpyHostToHost));
		if (i % 7 == 3 && !cudaLaunchKernel(kernel, (dim3){ 1, 1, 1 }, (dim3){ 4096, 1, 1 },
						    NULL, 0, NULL))
			return 1;
		if (i % 11 == 4)
			cudaGetLastError();
		MUST(cudaMemsetAsync(p, 0, 4 + i, NULL));
		work_launch(i % 2 ? kernel : other, 1, NULL);
		if (i % 10 == 9)
			MUST(cudaDeviceSynchronize());
	}
	MUST(cudaDeviceSynchronize());
	return 0;
}

static void launch_iterations(cudaStream_t stream)
{
	for (unsigned i = 0; i < ITERATIONS; i++)
		work_launch(kernel, 1, stream);
}

static void *on_device(void *device)
{
	MUST(cudaSetDevice((int)(intptr_t)device));
	launch_iterations(NULL);
	MUST(cudaDeviceSynchronize());
	return NULL;
}

static void *on_own_stream(void *unused)
{
	(void)unused;
	launch_iterations(cudaStreamPerThread);
	MUST(cudaStreamSynchronize(cudaStreamPerThread));
	return NULL;
}

static void *on_new_streams(void *unused)
{
	(void)unused;
	for (int i = 0; i < 4; i++) {
		cudaStream_t stream;
		MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		launch_iterations(stream);
		MUST(cudaStreamSynchronize(stream));
		MUST(cudaStreamDestroy(stream));
	}
	return NULL;
}

static int in_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int devices(void)
{
	return in_threads(on_device);
}

static int own(void)
{
	return in_threads(on_own_stream);
}

static int again(void)
{
	return in_threads(on_new_streams);
}

static int graphs(void)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	MUST(cudaStreamCreate(&stream));
	MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	work_launch(kernel, 1, stream);
	work_launch(kernel, 1, stream);
	MUST(cudaStreamEndCapture(stream, &graph));
	MUST(cudaGraphInstantiate(&exec, graph, 0));
	for (unsigned i = 0; i < ITERATIONS; i++) {
		work_launch(kernel, 1, stream);
		if (i % 3)
			MUST(cudaGraphLaunch(exec, stream));
		work_launch(kernel, 1, stream);
	}
	MUST(cudaDeviceSynchronize());
	return 0;
}

static int windows(void)
{
	for (int window = 0; window < 3; window++) {
		MUST(cudaProfilerStart());
		launch_iterations(NULL);
		MUST(cudaDeviceSynchronize());
		MUST(cudaProfilerStop());
		launch_iterations(NULL);
		MUST(cudaDeviceSynchronize());
	}
	return 0;
}

static void launch_of_step(const void *what, unsigned blocks, unsigned step)
{
	MUST(cudaLaunchKernel(what, (dim3){ blocks, 1, 1 }, (dim3){ 32, 1, 1 }, NULL, 16 * step,
			      NULL));
}

static int ahead(void)
{
	void *p;
	MUST(cudaMalloc(&p, 4096));
	for (unsigned step = 0; step < 400; step++) {
		launch_of_step(kernel, 1, step);
		MUST(cudaMemsetAsync(p, 0, 64, NULL));
		for (unsigned i = 1; i <= 90; i++)
			launch_of_step(other, i % 3 + 1, step);
		usleep(300);
		known_pace();
	}
	MUST(cudaDeviceSynchronize());
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "irregular", irregular }, { "devices", devices }, { "own", own },
		{ "again", again },	    { "graphs", graphs },   { "windows", windows },
		{ "ahead", ahead },	    { NULL, NULL }
	};
	kernel = work_kernel("spin_5us");
	other = work_kernel("last_15us");
	return modes_run(modes, argc, argv);
}
