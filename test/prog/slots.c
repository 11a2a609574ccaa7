/*
 * Prints where the program's own calls lead. `slots STEPS`: each step has two launches, an event
 * and a wait. After each step it prints a line: the step's number, and where its calls of
 * cudaLaunchKernel and cudaEventRecord lead. At the end a child prints the same of itself, before
 * its first call.
 */
#define _GNU_SOURCE
#include "test/prog/leads_to.h"
#include "test/prog/work.h"

#include <sys/wait.h>
#include <unistd.h>

static void say(const char *when)
{
	printf("%s launch %s event %s\n", when, leads_to(_r_debug.r_map, "cudaLaunchKernel"),
	       leads_to(_r_debug.r_map, "cudaEventRecord"));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const void *kernel = work_kernel("spin_5us");
	cudaStream_t stream;
	cudaEvent_t done;
	char when[16];
	MUST(cudaStreamCreate(&stream));
	MUST(cudaEventCreate(&done));
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++) {
		work_launch(kernel, 8, stream);
		work_launch(kernel, 16, stream);
		MUST(cudaEventRecord(done, stream));
		MUST(cudaStreamSynchronize(stream));
		snprintf(when, sizeof(when), "%d", i);
		say(when);
	}
	pid_t child = fork();
	if (!child) {
		say("child");
		_exit(0);
	}
	return waitpid(child, NULL, 0) != child;
}
