/*
 * An application with a profiler of its own that uses CUPTI as torch.profiler's Kineto does: it
 * sets a clock for the records and callbacks, and enables kinds; it runs some kernels; it disables
 * all kinds and only then flushes the rest. It does so twice, with kernels before, between and
 * after. Prints how many kernel records it received, and how many have times within its own.
 *   own_profiler [finalize]
 * finalize: after each session it removes CUPTI, as Kineto does with TEARDOWN_CUPTI=1.
 */
#include <cupti.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "test/prog/work.h"

enum { KERNELS = 20, SESSIONS = 2, BUFFER_BYTES = 1 << 16, OFFSET_NS = 1000000000 };

static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					    CUPTI_ACTIVITY_KIND_MEMCPY,
					    CUPTI_ACTIVITY_KIND_RUNTIME };

static uint64_t began_ns, ended_ns;
static int n_kernels, n_in_time;

/* A clock like no other's. */
static uint64_t CUPTIAPI own_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + OFFSET_NS;
}

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*bytes = BUFFER_BYTES;
	*most = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid)
{
	CUpti_Activity *record = NULL;
	(void)context, (void)stream, (void)bytes;
	while (!cuptiActivityGetNextRecord(buffer, valid, &record)) {
		const CUpti_ActivityKernel9 *k = (const void *)record;
		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		n_kernels++;
		n_in_time += !!strstr(k->name, "last_15us") && k->start >= began_ns &&
			     k->end > k->start && k->end <= ended_ns;
	}
	free(buffer);
}

static void run(const void *kernel)
{
	for (int i = 0; i < KERNELS; i++)
		work_launch(kernel, 8, NULL);
	MUST(cudaDeviceSynchronize());
}

static void session(const void *kernel, bool finalize)
{
	n_kernels = n_in_time = 0;
	cuptiActivityRegisterTimestampCallback(own_clock);
	cuptiActivityRegisterCallbacks(request, complete);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		cuptiActivityEnable(kinds[i]);
	began_ns = own_clock();
	run(kernel);
	ended_ns = own_clock();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		cuptiActivityDisable(kinds[i]);
	cuptiActivityFlushAll(0);
	if (finalize)
		cuptiFinalize();
	printf("%d kernels, %d in time\n", n_kernels, n_in_time);
}

int main(int argc, char **argv)
{
	const void *outside = work_kernel("first_10us"), *inside = work_kernel("last_15us");
	(void)argv;
	run(outside);
	for (int i = 0; i < SESSIONS; i++) {
		session(inside, argc > 1);
		run(outside);
	}
	return 0;
}
