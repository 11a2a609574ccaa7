// Checks whether a program survives CUPTI being started and removed while its threads launch, and
// whether all windows have their records. Cases: only kinds are switched off, with copies within
// the device under way and without; cuptiFinalize(), with CUDA graphs and without
// (preload/gpu_teardown.h). Uses CUPTI directly, without profrun.
// usage: cupti_finalize; a table row for each way, in a process of its own.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cupti.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

enum { ROUNDS = 30, ON_US = 15000, DRAIN_US = 40000, OFF_US = 10000, LIMIT_S = 30 };
enum { BUFFER_BYTES = 2 << 20, GRAPH_NODES = 10, COPY_BYTES = 4096, FEW = 100 };

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,	       CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_OVERHEAD,
};

struct way {
	const char *name;
	int threads;
	bool graphs, copies, finalize;
};

static std::atomic<bool> stop;
static std::atomic<long> kernels;
static std::atomic<double> worst_ms;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = static_cast<uint8_t *>(aligned_alloc(8, BUFFER_BYTES));
	*size = BUFFER_BYTES;
	*max = 0;
}

static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = nullptr;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	free(buffer);
}

__global__ void empty_kernel() {}

static double now_ms()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static cudaGraphExec_t graph_of(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
	for (int i = 0; i < GRAPH_NODES; i++)
		empty_kernel<<<1, 1, 0, stream>>>();
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&exec, graph, 0);
	return exec;
}

static void launch_on(bool graphs, bool copies)
{
	cudaStream_t stream;
	char *from = nullptr, *to = nullptr;
	if (copies && (cudaMalloc(&from, COPY_BYTES) || cudaMalloc(&to, COPY_BYTES)))
		_exit(1);
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	cudaGraphExec_t exec = graphs ? graph_of(stream) : nullptr;
	for (long i = 0; !stop; i++) {
		double begin = now_ms();
		if (exec && i % 7 == 0)
			cudaGraphLaunch(exec, stream);
		empty_kernel<<<1, 1, 0, stream>>>();
		if (copies && i % 3 == 0)
			cudaMemcpyAsync(to, from, COPY_BYTES, cudaMemcpyDeviceToDevice, stream);
		double ms = now_ms() - begin, worst = worst_ms;
		while (ms > worst && !worst_ms.compare_exchange_weak(worst, ms))
			;
		cudaError_t error = i % 50 ? cudaPeekAtLastError() : cudaStreamSynchronize(stream);
		if (error != cudaSuccess) {
			printf("%s |\n", cudaGetErrorString(error));
			fflush(stdout);
			_exit(0);
		}
	}
}

// Milliseconds that the longest launch took meanwhile.
static double worst_within(unsigned us)
{
	worst_ms = 0;
	usleep(us);
	return worst_ms;
}

static int run(const way &w)
{
	std::vector<std::thread> threads;
	double begin_ms = 0, finalize_ms = 0, worst_end_ms = 0;
	int n_empty = 0;
	cudaFree(nullptr);
	for (int i = 0; i < w.threads; i++)
		threads.emplace_back(launch_on, w.graphs, w.copies);
	usleep(100000);
	printf("| %s | %d | ", w.name, w.threads);
	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_ms();
		if (cuptiActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS)
			return 1;
		for (CUpti_ActivityKind kind : kinds)
			cuptiActivityEnable(kind);
		begin_ms = std::max(begin_ms, now_ms() - begin);
		usleep(ON_US);
		for (CUpti_ActivityKind kind : kinds)
			cuptiActivityDisable(kind);
		usleep(DRAIN_US);
		cuptiActivityFlushAll(1);
		n_empty += kernels.exchange(0) < FEW;
		begin = now_ms();
		if (w.finalize)
			cuptiFinalize();
		finalize_ms = std::max(finalize_ms, now_ms() - begin);
		worst_end_ms = std::max(worst_end_ms, worst_within(OFF_US));
	}
	stop = true;
	for (std::thread &thread : threads)
		thread.join();
	printf("%d of %d windows without kernels | %.1f | %.1f | %.1f |\n", n_empty, ROUNDS,
	       begin_ms, finalize_ms, worst_end_ms);
	fflush(stdout);
	return 0;
}

int main()
{
	static const way ways[] = {
		{ "kernels, switched off only", 4, false, false, false },
		{ "kernels and copies, switched off only", 1, false, true, false },
		{ "kernels and copies, switched off only", 4, false, true, false },
		{ "kernels and copies, cuptiFinalize", 1, false, true, true },
		{ "kernels and copies, cuptiFinalize", 4, false, true, true },
		{ "kernels and copies, cuptiFinalize", 8, false, true, true },
		{ "graphs, switched off only", 4, true, false, false },
		{ "graphs, cuptiFinalize", 1, true, false, true },
		{ "graphs, cuptiFinalize", 4, true, false, true },
	};
	printf("| launched, 30 windows | threads | what went wrong | ms to begin, at most "
	       "| ms to finalize | longest launch after it, ms |\n");
	printf("| --- | ---: | --- | ---: | ---: | ---: |\n");
	fflush(stdout);
	int failed = 0;
	for (const way &w : ways) {
		pid_t child = fork(); // before CUDA is touched
		int status = 1;
		if (!child) {
			alarm(LIMIT_S);
			_exit(run(w));
		}
		failed |= child < 0 || waitpid(child, &status, 0) < 0;
		if (WIFSIGNALED(status))
			printf("| %s | %d | %s |\n", w.name, w.threads,
			       WTERMSIG(status) == SIGALRM ? "hangs, or very slow" : "crashed");
		fflush(stdout);
	}
	return failed;
}
