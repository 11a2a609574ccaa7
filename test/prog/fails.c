/*
 * Programs whose end is a failure: memory that is never freed until there is no more, a CUDA call
 * that fails (PROFSIM_FAIL), an allocation whose failure is handled before the program fails for
 * another reason, and a crash. The lines of the failures carry marks.
 */
#include "test/prog/modes.h"
#include "test/prog/work.h"

#include <signal.h>
#include <stdint.h>

enum { STEPS = 400, MIB = 1 << 20 };

static volatile int n_steps;

static int step(const void *kernel)
{
	for (int i = 0; i < 3; i++)
		work_launch(kernel, 1, NULL);
	int failed = (int)cudaStreamSynchronize(NULL); /* mark: synchronize */
	n_steps++;				       /* so that this is no tail call */
	return failed;
}

static int by_leak(void)
{
	const void *kernel = work_kernel("spin_200us");
	for (int i = 0; i < STEPS; i++) {
		void *kept;
		if (cudaMalloc(&kept, MIB)) /* mark: leak */
			return 3;
		step(kernel);
	}
	return 0;
}

static int by_error(void)
{
	const void *kernel = work_kernel("spin_200us");
	for (int i = 0; i < STEPS; i++)
		if (step(kernel))
			return 4;
	return 0;
}

static int by_handled(void)
{
	const void *kernel = work_kernel("spin_200us");
	void *memory;
	for (int i = 0; i < STEPS; i++) {
		if (i == STEPS / 2 && cudaMalloc(&memory, 1ull << 40) == cudaSuccess)
			return 0;
		step(kernel);
	}
	return 5;
}

static int by_crash(void)
{
	const void *kernel = work_kernel("spin_200us");
	for (int i = 0; i < STEPS; i++) {
		step(kernel);
		if (i == STEPS / 10)
			raise(SIGSEGV);
	}
	return 0;
}

/* Makes more launches than an opening of 1 MiB holds. */
static int by_odd_crash(void)
{
	const void *kernel[2] = { work_kernel("spin_5us"), work_kernel("last_15us") };
	uint32_t random = 1;
	for (int i = 0; i < 40000; i++) {
		random = random * 1664525u + 1013904223u;
		work_launch(kernel[random >> 31], 1, NULL);
	}
	raise(SIGSEGV);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "leak", by_leak },   { "error", by_error },	      { "handled", by_handled },
		{ "crash", by_crash }, { "odd-crash", by_odd_crash }, { NULL, NULL },
	};
	return modes_run(modes, argc, argv);
}
