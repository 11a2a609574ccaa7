/* What a program may do to its own process while it is profiled. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

static int report(const char *what, int good)
{
	printf("%s %s\n", what, good ? "good" : "bad");
	return !good;
}

static int resets(void)
{
	int good = work_some(3);
	MUST(cudaDeviceReset());
	good &= work_some(4);
	MUST(cudaDeviceReset());
	return report("reset", good);
}

/*
 * Closes every descriptor but the standard three, as a daemon does; then launches enough for the
 * journal to grow.
 */
static int closes_all(void)
{
	int good = work_some(3);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	const void *kernel = work_kernel("spin_5us");
	for (int i = 0; i < 30000; i++)
		work_launch(kernel, 1, NULL);
	MUST(cudaDeviceSynchronize());
	int next = open("/dev/null", O_RDONLY);
	printf("next descriptor is %s\n", next <= 8 ? "low" : "high");
	return report("closed", good & work_some(3));
}

static int changes_folder(void)
{
	if (chdir("/"))
		return 1;
	int good = work_some(3);
	if (chdir("/tmp"))
		return 1;
	return report("chdir", good & work_some(3));
}

/* No file may grow: a profiler that writes on would kill the process by SIGXFSZ. */
static int limits_files(void)
{
	struct rlimit limit = { 4096, 4096 };
	if (setrlimit(RLIMIT_FSIZE, &limit))
		return 1;
	return report("limited", work_some(3));
}

static int changes_mask(void)
{
	umask(0777);
	return report("umask", work_some(3));
}

/*
 * errno belongs to the application: no hooked call may change it. (The simulated GPU does not; CUDA
 * does not promise that.)
 */
static int keeps_errno(void)
{
	void *p;
	int bad = 0;
	cudaStream_t stream;
#define KEEP(call)                                              \
	do {                                                    \
		errno = 4711;                                   \
		MUST(call);                                     \
		if (errno != 4711) {                            \
			printf("%s: errno %d\n", #call, errno); \
			bad++;                                  \
		}                                               \
	} while (0)
	/* the very first call, so that it is the one in which a library may set itself up */
	KEEP(cudaMalloc(&p, 1 << 20));
	KEEP(cudaStreamCreate(&stream));
	const void *kernel = work_kernel("spin_5us");
	KEEP(cudaMemset(p, 0, 256));
	for (int i = 0; i < 5000; i++)
		KEEP(cudaLaunchKernel(kernel, (dim3){ 1, 1, 1 },
				      (dim3){ 1 + (unsigned)i % 64, 1, 1 }, NULL, 0, stream));
	KEEP(cudaStreamSynchronize(stream));
	KEEP(cudaMemsetAsync(p, 0, 256, stream));
	KEEP(cudaDeviceSynchronize());
	KEEP(cudaStreamDestroy(stream));
	KEEP(cudaFree(p));
#undef KEEP
	return report("errno", !bad);
}

static volatile sig_atomic_t handled;
static void *handler_memory;

static void calls_cuda(int number)
{
	(void)number;
	if (!cudaMemset(handler_memory, 0, 64))
		handled++;
}

/*
 * A signal handler that calls CUDA in the middle of whatever the main flow does, hooks included.
 * (The simulated GPU's locks are not for handlers, so the signal is only unblocked between the
 * calls of its driver.)
 */
static int in_handler(void)
{
	const void *kernel = work_kernel("spin_5us");
	MUST(cudaMalloc(&handler_memory, 64));
	signal(SIGUSR1, calls_cuda);
	for (int i = 0; i < 200; i++) {
		work_launch(kernel, 1, NULL);
		raise(SIGUSR1);
	}
	MUST(cudaDeviceSynchronize());
	printf("%d handled\n", (int)handled);
	return 0;
}

static int no_cuda(void)
{
	printf("no CUDA here\n");
	return 6;
}

/* What the process looks like from inside: threads and mappings of its own making would show. */
static int counts_threads(void)
{
	struct stat status;
	printf("%s\n", stat("/proc/self/task", &status) ? "?"
		       : status.st_nlink == 3		? "one thread"
							: "more threads");
	return 0;
}

static int reads_input(void)
{
	char line[256];
	int lines = 0;
	while (fgets(line, sizeof(line), stdin)) {
		printf("read %s", line);
		lines++;
	}
	return report("input", work_some(lines));
}

static int fails(void)
{
	void *p = NULL;
	cudaError_t error = cudaMalloc(&p, (size_t)1 << 50);
	printf("%s, then %s, then %s\n", cudaGetErrorName(error),
	       cudaGetErrorName(cudaGetLastError()), cudaGetErrorName(cudaGetLastError()));
	error = cudaMemcpy(NULL, NULL, 16, cudaMemcpyHostToDevice);
	printf("%s\n", cudaGetErrorName(error));
	cudaGetLastError();
	return report("failing", work_some(1));
}

static sigjmp_buf out_of_wait;

static void gives_up(int number)
{
	(void)number;
	siglongjmp(out_of_wait, 1);
}

/* A watchdog that leaves a wait which takes too long, from the loop that goes on. */
static int jumps(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 3000 };
	const void *slow = work_kernel("spin_100us");
	volatile int n_jumps = 0;
	int good = 1;
	signal(SIGALRM, gives_up);
	for (volatile int i = 0; i < 50; i++) {
		for (int k = 0; i == 10 && k < 200; k++)
			work_launch(slow, 1, NULL);
		if (i == 10 && sigsetjmp(out_of_wait, 1) == 0)
			setitimer(ITIMER_REAL, &soon, NULL);
		else if (i == 10)
			n_jumps++;
		if (i != 10 || !n_jumps)
			MUST(cudaDeviceSynchronize());
		good &= work_some(1);
	}
	printf("%d jumps\n", n_jumps);
	return report("jumping", good);
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = { { "resets", resets },
					     { "closes-all", closes_all },
					     { "chdir", changes_folder },
					     { "limits", limits_files },
					     { "umask", changes_mask },
					     { "errno", keeps_errno },
					     { "handler", in_handler },
					     { "jumps", jumps },
					     { "no-cuda", no_cuda },
					     { "threads", counts_threads },
					     { "input", reads_input },
					     { "fails", fails },
					     { NULL, NULL } };
	return modes_run(modes, argc, argv);
}
