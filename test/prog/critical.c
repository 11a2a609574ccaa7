/*
 * Steps whose critical path is known.
 *   critical STEPS
 * The CPU sleeps 2 ms. Then a kernel of 5 ms runs in one stream. In another one, a kernel of 100 us
 * runs meanwhile, and a kernel of 1 ms after it, for an event. The CPU waits for the last one.
 */
#include <unistd.h>

#include "test/prog/known.h"
#include "test/prog/work.h"

#define KERNELS PTX_HEAD PTX_SPIN(longest, 5000) PTX_SPIN(short, 100) PTX_SPIN(last, 1000)

static const void *kernel(const char *name)
{
	cudaLibrary_t library;
	cudaKernel_t found;
	MUST(cudaLibraryLoadData(&library, KERNELS, NULL, NULL, 0, NULL, NULL, 0));
	MUST(cudaLibraryGetKernel(&found, library, name));
	return found;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 0;
	const void *longest = kernel("longest_5000us"), *brief = kernel("short_100us"),
		   *last = kernel("last_1000us");
	cudaStream_t a, b;
	cudaEvent_t event;
	MUST(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	MUST(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	MUST(cudaEventCreate(&event));
	for (int i = 0; i < steps; i++) {
		usleep(2000);
		work_launch(longest, 8, a);
		MUST(cudaEventRecord(event, a));
		work_launch(brief, 8, b);
		MUST(cudaStreamWaitEvent(b, event, 0));
		work_launch(last, 8, b);
		MUST(cudaStreamSynchronize(b));
		known_pace();
	}
	printf("%d steps\n", steps);
	return 0;
}
