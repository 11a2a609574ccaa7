// Whether a program outlives cuptiFinalize() while its threads launch: what CUPTI leaves behind in a process (20_cupti_cost.sh) is gone then.
// usage: cupti_finalize; a table row a way, each in a process of its own. Uses CUPTI directly, without profrun.
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

enum { ROUNDS = 30, ON_US = 15000, DRAIN_US = 40000, OFF_US = 10000, BUFFER_BYTES = 2 << 20, GRAPH_NODES = 10, LIMIT_S = 30 };

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,   CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,	       CUPTI_ACTIVITY_KIND_OVERHEAD,
};

struct way {
	const char *name;
	int threads;
	bool graphs, finalize;
};

static std::atomic<bool> stop;
static std::atomic<double> worst_ms;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = static_cast<uint8_t *>(aligned_alloc(8, BUFFER_BYTES));
	*size = BUFFER_BYTES;
	*max = 0;
}

static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t)
{
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

static void launch_on(bool graphs)
{
	cudaStream_t stream;
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	cudaGraphExec_t exec = graphs ? graph_of(stream) : nullptr;
	for (long i = 0; !stop; i++) {
		double begin = now_ms();
		if (exec && i % 7 == 0)
			cudaGraphLaunch(exec, stream);
		empty_kernel<<<1, 1, 0, stream>>>();
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
	cudaFree(nullptr);
	for (int i = 0; i < w.threads; i++)
		threads.emplace_back(launch_on, w.graphs);
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
		begin = now_ms();
		if (w.finalize)
			cuptiFinalize();
		finalize_ms = std::max(finalize_ms, now_ms() - begin);
		worst_end_ms = std::max(worst_end_ms, worst_within(OFF_US));
	}
	stop = true;
	for (std::thread &thread : threads)
		thread.join();
	printf("nothing | %.1f | %.1f | %.1f |\n", begin_ms, finalize_ms, worst_end_ms);
	fflush(stdout);
	return 0;
}

int main()
{
	static const way ways[] = {
		{ "kernels, switched off only", 4, false, false }, { "graphs, switched off only", 4, true, false },
		{ "kernels, cuptiFinalize", 1, false, true },	   { "kernels, cuptiFinalize", 4, false, true },
		{ "kernels, cuptiFinalize", 8, false, true },	   { "graphs, cuptiFinalize", 1, true, true },
		{ "graphs, cuptiFinalize", 4, true, true },
	};
	printf("| launched, 30 windows | threads | what went wrong | ms to begin, at most | ms to finalize | longest launch behind it, ms |\n");
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
			printf("| %s | %d | %s |\n", w.name, w.threads, WTERMSIG(status) == SIGALRM ? "hangs, or very slow" : "killed");
		fflush(stdout);
	}
	return failed;
}
