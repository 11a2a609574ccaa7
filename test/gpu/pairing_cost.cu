// What each way of pairing a launch with its GPU record costs the launching thread, and which records CUPTI then delivers.
// usage: pairing_cost; prints one table row per way, times as the median of rounds. Uses CUPTI directly, without profrun.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cupti.h>
#include <ctime>
#include <cuda_runtime.h>

enum { LAUNCHES = 2000, ROUNDS = 15, BUFFER_BYTES = 8 << 20 };

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

// Which function's API records are wanted, by the name that CUPTI itself gives to its id.
static void enable_api(CUpti_CallbackDomain domain, const char *prefix, uint8_t on)
{
	for (uint32_t id = 1; id < 2000; id++) {
		const char *name = nullptr;
		if (cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name || strncmp(name, prefix, strlen(prefix)))
			continue;
		if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
			cuptiActivityEnableDriverApi(id, on);
		else
			cuptiActivityEnableRuntimeApi(id, on);
	}
}

struct way {
	const char *name;
	bool kernel, runtime_kind, driver_kind, runtime_some, driver_some, push;
};

static void turn(const way &w, bool on)
{
	auto kind = [on](CUpti_ActivityKind k) { on ? cuptiActivityEnable(k) : cuptiActivityDisable(k); };
	if (w.kernel)
		kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (w.runtime_kind)
		kind(CUPTI_ACTIVITY_KIND_RUNTIME);
	if (w.driver_kind)
		kind(CUPTI_ACTIVITY_KIND_DRIVER);
	if (w.runtime_some)
		enable_api(CUPTI_CB_DOMAIN_RUNTIME_API, "cudaLaunchKernel", on);
	if (w.driver_some)
		enable_api(CUPTI_CB_DOMAIN_DRIVER_API, "cuLaunchKernel", on);
	if (w.push)
		kind(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
}

static void measure(const way &w)
{
	double per_launch[ROUNDS];
	turn(w, true);
	memset(records, 0, sizeof(records));
	for (int round = 0; round < ROUNDS; round++) {
		cudaDeviceSynchronize();
		double begin = now_ns();
		for (int i = 0; i < LAUNCHES; i++) {
			uint64_t id;
			if (w.push)
				cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, i + 1);
			empty_kernel<<<1, 1>>>();
			if (w.push)
				cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &id);
			if (i % 500 == 499)
				cudaDeviceSynchronize();
		}
		per_launch[round] = (now_ns() - begin) / LAUNCHES;
	}
	cudaDeviceSynchronize();
	cuptiActivityFlushAll(0);
	turn(w, false);
	std::sort(per_launch, per_launch + ROUNDS);
	double calls = static_cast<double>(LAUNCHES) * ROUNDS;
	printf("| %s | %.0f | %.2f | %.2f | %.2f | %.2f |\n", w.name, per_launch[ROUNDS / 2],
	       records[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] / calls, records[CUPTI_ACTIVITY_KIND_RUNTIME] / calls,
	       records[CUPTI_ACTIVITY_KIND_DRIVER] / calls, records[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] / calls);
}

int main()
{
	static const way ways[] = {
		{ "no CUPTI", false, false, false, false, false, false },
		{ "kernels alone", true, false, false, false, false, false },
		{ "kernels, launch records of the driver", true, false, false, false, true, false },
		{ "kernels, launch records of the runtime", true, false, false, true, false, false },
		{ "kernels, launch records of both", true, false, false, true, true, false },
		{ "kernels, all records of both", true, true, true, false, false, false },
		{ "kernels, driver's, pushed ids", true, false, false, false, true, true },
		{ "kernels, runtime's, pushed ids", true, false, false, true, false, true },
		{ "kernels, both, pushed ids", true, false, false, true, true, true },
		{ "kernels, no API records, pushed ids", true, false, false, false, false, true },
		{ "no CUPTI, afterwards", false, false, false, false, false, false },
	};
	if (cuptiActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS)
		return 1;
	cudaFree(nullptr);
	printf("| way | ns a launch | kernel records a launch | runtime's | driver's | external ids |\n");
	printf("| --- | ---: | ---: | ---: | ---: | ---: |\n");
	for (const way &w : ways)
		measure(w);
	return 0;
}
