/*
 * NVTX ranges around steps of CUDA work. Prints what NVTX returned.
 *   nvtx steps N      a loop of N steps in a range that was opened before the first CUDA call
 *   nvtx threads N    N threads at once, each with ranges of its own
 *   nvtx fork         CUDA in open ranges, then a child that tries CUDA in them
 *   nvtx turns N      N times: "turn" in the default domain and two kernels; within it, twice, a
 *                     started "turn" of domain "inner"
 *   nvtx lost         pops without a push, 100 levels, a domain's range that outlives those pushed
 *                     before it
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

static int number;

static nvtxEventAttributes_t attributes(nvtxStringHandle_t name)
{
	return (nvtxEventAttributes_t){
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.colorType = NVTX_COLOR_ARGB,
		.color = 0xff00ff00,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED,
		.message.registered = name,
	};
}

/* The step's first kernel comes after its range has begun. */
static void one_step(int i, nvtxDomainHandle_t loader, const nvtxEventAttributes_t *load)
{
	static const void *first, *second;
	char name[32];
	if (!first) {
		first = work_kernel("first_10us");
		second = work_kernel("spin_5us");
	}
	snprintf(name, sizeof(name), "step %d", i); /* the same buffer each time */
	int outer = nvtxRangePushA(name);
	int loads = nvtxDomainRangePushEx(loader, load);
	work_launch(first, 8, NULL);
	int loaded = nvtxDomainRangePop(loader);
	int inner = nvtxRangePushW(L"forw\u00e4rts \U0001f680");
	work_launch(second, 8, NULL);
	nvtxMarkA("half way");
	work_launch(second, 9, NULL);
	int popped = nvtxRangePop();
	MUST(cudaDeviceSynchronize());
	printf("%d %d %d %d %d %d\n", outer, loads, loaded, inner, popped, nvtxRangePop());
}

static int steps(void)
{
	nvtxRangePushA("program");
	nvtxRangeId_t epoch = nvtxRangeStartA("epoch");
	nvtxDomainHandle_t loader = nvtxDomainCreateA("loader");
	nvtxEventAttributes_t load = attributes(nvtxDomainRegisterStringA(loader, "load a batch"));
	for (int i = 0; i < number; i++) {
		nvtxRangeId_t other = nvtxDomainRangeStartEx(loader, &load);
		one_step(i, loader, &load);
		nvtxDomainRangeEnd(loader, other);
	}
	nvtxRangeEnd(epoch);
	nvtxRangePop();
	return 0;
}

static void *in_a_thread(void *argument)
{
	char name[32];
	snprintf(name, sizeof(name), "thread %d", (int)(intptr_t)argument);
	nvtxRangePushA(name);
	nvtxRangePushA("work");
	int good = work_some(5);
	nvtxRangePop();
	nvtxRangePop();
	return (void *)(intptr_t)good;
}

static int threads(void)
{
	enum { MOST = 64 };
	pthread_t all[MOST];
	int sum = 0;
	MUST(cudaFree(NULL));
	for (int i = 0; i < number && i < MOST; i++)
		pthread_create(&all[i], NULL, in_a_thread, (void *)(intptr_t)i);
	for (int i = 0; i < number && i < MOST; i++) {
		void *good = NULL;
		pthread_join(all[i], &good);
		sum += good != NULL;
	}
	printf("%d good\n", sum);
	return 0;
}

static int forks(void)
{
	nvtxRangePushA("parent and child");
	nvtxRangeId_t both = nvtxRangeStartA("both");
	int good = work_some(2), status = 1;
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		nvtxRangePushA("child alone");
		cudaFree(
			NULL); /* refused: CUDA does not survive a fork. A profiler sees the call */
		nvtxRangePop();
		nvtxRangePop();
		nvtxRangeEnd(both);
		exit(0);
	}
	waitpid(child, &status, 0);
	nvtxRangePop();
	nvtxRangeEnd(both);
	printf("%d %d\n", good, status);
	return 0;
}

/* The first range begins before the first CUDA call. */
static int iterations(void)
{
	nvtxDomainHandle_t inner = nvtxDomainCreateA("inner");
	nvtxEventAttributes_t again = attributes(nvtxDomainRegisterStringA(inner, "turn"));
	const void *first = NULL, *second = NULL;
	for (int i = 0; i < number; i++) {
		nvtxRangePushA("turn");
		first = first ? first : work_kernel("first_10us");
		second = second ? second : work_kernel("spin_5us");
		const void *kernels[] = { first, second };
		for (int k = 0; k < 2; k++) {
			nvtxRangeId_t id = nvtxDomainRangeStartEx(inner, &again);
			work_launch(kernels[k], 8, NULL);
			nvtxDomainRangeEnd(inner, id);
		}
		nvtxRangePop();
		MUST(cudaDeviceSynchronize());
	}
	return 0;
}

static int lost(void)
{
	enum { LEVELS = 100 };
	int answer = nvtxRangePop(), last = 0;
	nvtxDomainHandle_t other = nvtxDomainCreateW(L"other");
	nvtxEventAttributes_t plain = { .version = NVTX_VERSION,
					.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					.messageType = NVTX_MESSAGE_TYPE_ASCII,
					.message.ascii = "crosses" };
	MUST(cudaFree(NULL));
	nvtxRangePushA("ends first");
	nvtxDomainRangePushEx(other, &plain);
	work_some(1);
	nvtxRangePop();
	work_some(1);
	nvtxDomainRangePop(other);
	for (int i = 0; i < LEVELS; i++)
		last = nvtxRangePushA("deep");
	work_some(1);
	for (int i = 0; i < LEVELS; i++)
		nvtxRangePop();
	printf("%d %d %d\n", answer, last, nvtxRangePop());
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = { { "steps", steps },     { "turns", iterations },
					     { "threads", threads }, { "fork", forks },
					     { "lost", lost },	     { NULL, NULL } };
	number = argc > 2 ? atoi(argv[2]) : 0;
	return modes_run(modes, argc, argv);
}
