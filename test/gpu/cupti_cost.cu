// Measures what CUPTI costs the thread that calls CUDA, by what it records: before it records,
// while it does, and afterwards. Uses CUPTI directly, without profrun.
// usage: cupti_cost; a table row for each way, in a process of its own.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cupti.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAUNCHES = 200, QUESTIONS = 2000, ROUNDS = 25, BUFFER_BYTES = 8 << 20 };

// Sets of kinds, added up in a way.
enum : unsigned {
	KERNELS = 1,
	COPIES = 2,
	OVERHEAD = 4,
	SYNC = 8,
	POOL = 16,
	RUNTIME = 32,
	DRIVER = 64,
	LAUNCHES_ONLY = 128, // of RUNTIME and DRIVER, all but the launches off again
	IDS = 256,
	FINALIZE = 512, // behind it
	BY_ORDER = KERNELS | COPIES | OVERHEAD,
	ALL_CALLS = BY_ORDER | SYNC | POOL | RUNTIME | DRIVER,
};

static long records[CUPTI_ACTIVITY_KIND_COUNT];

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
		records[record->kind]++;
	free(buffer);
}

__global__ void empty_kernel() {}

static double now_ns()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// The least of the rounds: what a launch costs where nothing else comes between.
static double launch_ns(bool ids)
{
	double least = 1e12;
	for (int round = 0; round < ROUNDS; round++) {
		cudaDeviceSynchronize();
		double begin = now_ns();
		for (int i = 0; i < LAUNCHES; i++) {
			uint64_t id;
			if (ids)
				cuptiActivityPushExternalCorrelationId(
					CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, i + 1);
			empty_kernel<<<1, 1>>>();
			if (ids)
				cuptiActivityPopExternalCorrelationId(
					CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &id);
		}
		least = std::min(least, (now_ns() - begin) / LAUNCHES);
	}
	cudaDeviceSynchronize();
	return least;
}

static double question_ns()
{
	int device;
	double least = 1e12;
	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_ns();
		for (int i = 0; i < QUESTIONS; i++)
			cudaGetDevice(&device);
		least = std::min(least, (now_ns() - begin) / QUESTIONS);
	}
	return least;
}

static void leave_launches(CUpti_CallbackDomain domain)
{
	for (uint32_t id = 1; id < 2000; id++) {
		const char *name = nullptr;
		if (cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name ||
		    strstr(name, "LaunchKernel"))
			continue;
		if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
			cuptiActivityEnableDriverApi(id, 0);
		else
			cuptiActivityEnableRuntimeApi(id, 0);
	}
}

static void iteration(unsigned what, bool on)
{
	static const struct {
		unsigned set;
		CUpti_ActivityKind kind;
	} kinds[] = {
		{ KERNELS, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL },
		{ COPIES, CUPTI_ACTIVITY_KIND_MEMCPY },
		{ COPIES, CUPTI_ACTIVITY_KIND_MEMCPY2 },
		{ COPIES, CUPTI_ACTIVITY_KIND_MEMSET },
		{ OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD },
		{ SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION },
		{ POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL },
		{ IDS, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION },
		{ RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME },
		{ DRIVER, CUPTI_ACTIVITY_KIND_DRIVER },
	};
	for (const auto &row : kinds)
		if (what & row.set)
			on ? cuptiActivityEnable(row.kind) : cuptiActivityDisable(row.kind);
	if (on && what & LAUNCHES_ONLY) {
		leave_launches(CUPTI_CB_DOMAIN_RUNTIME_API);
		leave_launches(CUPTI_CB_DOMAIN_DRIVER_API);
	}
}

static int measure(const char *name, unsigned what)
{
	if (cudaFree(nullptr) != cudaSuccess)
		return 1;
	double launch = launch_ns(false), question = question_ns(), begin = now_ns();
	if (what && cuptiActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS)
		return 1;
	double registered_ms = (now_ns() - begin) / 1e6;
	begin = now_ns();
	iteration(what, true);
	double enabled_ms = (now_ns() - begin) / 1e6;
	double launch_with = launch_ns(what & IDS), question_with = question_ns();
	if (what)
		cuptiActivityFlushAll(1);
	iteration(what, false);
	if (what & FINALIZE)
		cuptiFinalize();
	double launch_after = launch_ns(false), question_after = question_ns();
	double calls = static_cast<double>(LAUNCHES) * ROUNDS;
	printf("| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f + %.1f | %.2f | %.2f | "
	       "%.2f |\n",
	       name, launch, launch_with, launch_after, question, question_with,
	       question_after, registered_ms, enabled_ms,
	       records[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] / calls,
	       (records[CUPTI_ACTIVITY_KIND_RUNTIME] + records[CUPTI_ACTIVITY_KIND_DRIVER]) / calls,
	       records[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] / calls);
	fflush(stdout);
	return 0;
}

int main()
{
	static const struct {
		const char *name;
		unsigned what;
	} ways[] = {
		{ "nothing", 0 },
		{ "kernels", KERNELS },
		{ "kernels, copies", KERNELS | COPIES },
		{ "the same, overhead: PROF_PAIRING=order", BY_ORDER },
		{ "the same, cuptiFinalize after it", BY_ORDER | FINALIZE },
		{ "the same, synchronization", BY_ORDER | SYNC },
		{ "the same, memory pools", BY_ORDER | POOL },
		{ "the same, the runtime's launches", BY_ORDER | RUNTIME | LAUNCHES_ONLY },
		{ "the same, the driver's launches", BY_ORDER | DRIVER | LAUNCHES_ONLY },
		{ "all, of calls launches: interval", ALL_CALLS | LAUNCHES_ONLY },
		{ "the same, pushed ids: external", ALL_CALLS | LAUNCHES_ONLY | IDS },
		{ "the same, cuptiFinalize after it", ALL_CALLS | LAUNCHES_ONLY | IDS | FINALIZE },
		{ "all calls", ALL_CALLS },
		{ "nothing, again", 0 },
	};
	printf("| recorded | launch ns before | with | after | cudaGetDevice ns before | with "
	       "| after | ms to begin | kernels a launch | calls | ids |\n");
	printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
	fflush(stdout);
	int failed = 0;
	for (const auto &way : ways) {
		pid_t child = fork(); // before CUDA is touched
		int status = 1;
		if (!child)
			_exit(measure(way.name, way.what));
		failed |= child < 0 || waitpid(child, &status, 0) < 0 || status;
	}
	return failed;
}
