/* Processes that fork, and what of CUDA each side then does. Every process prints one line. */
#include <sys/wait.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

static void say(const char *who, int good)
{
	printf("%s %s\n", who, good ? "good" : "bad");
	fflush(stdout);
}

/* Runs `child` in a forked child that leaves by exit; returns its status. */
static int in_child(void (*child)(void))
{
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		child();
		exit(0);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	return status;
}

static void uses_cuda(void)
{
	say("child", work_some(3));
}

static void uses_nothing(void)
{
	say("child without CUDA", 1);
}

/*
 * CUDA does not work in a child of a process that has used it (its own error says so). The call
 * must still return.
 */
static void tries_cuda(void)
{
	void *p;
	cudaError_t error = cudaMalloc(&p, 256);
	printf("child: %s\n", cudaGetErrorName(error));
}

/* The child is forked before any CUDA call: both use CUDA, each for itself. */
static int before(void)
{
	int status = in_child(uses_cuda);
	say("parent", work_some(2));
	return status != 0;
}

/* As PyTorch's DataLoader workers: forked from a process with CUDA, none of their own. */
static int after(void)
{
	say("parent", work_some(2));
	int status = in_child(uses_nothing);
	say("parent", work_some(2));
	return status != 0;
}

static int after_tries(void)
{
	say("parent", work_some(2));
	int status = in_child(tries_cuda);
	say("parent", work_some(2));
	return status != 0;
}

static void forks_again(void)
{
	exit(in_child(uses_cuda) != 0);
}

static int grandchild(void)
{
	return in_child(forks_again) != 0;
}

/* As multiprocessing's workers leave: by _exit, past every atexit handler. */
static void uses_cuda_and_leaves(void)
{
	say("child", work_some(3));
	fflush(stdout);
	_exit(0);
}

static int leaving_child(void)
{
	return in_child(uses_cuda_and_leaves) != 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = { { "before", before },
					     { "after", after },
					     { "after-tries", after_tries },
					     { "grandchild", grandchild },
					     { "leaving-child", leaving_child },
					     { NULL, NULL } };
	return modes_run(modes, argc, argv);
}
