/*
 * Every way for a process to end, after a little CUDA work whose last launches are not waited for.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

static int begin(void)
{
	const void *kernel = work_kernel("spin_200us");
	printf("work %s\n", work_some(5) ? "good" : "bad");
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		work_launch(kernel, 1, NULL);
	return 3;
}

/* Registered before the first CUDA call, so it runs after the driver's own handler. */
static void at_exit(void)
{
	void *p;
	printf("atexit handler: error %d\n", (int)cudaMalloc(&p, 256));
	fflush(stdout);
}

static int by_return(void)
{
	return begin();
}

static int by_exit(void)
{
	atexit(at_exit);
	exit(begin());
}

static int by__exit(void)
{
	_exit(begin());
}

static int by__Exit(void)
{
	_Exit(begin());
}

static int by_quick_exit(void)
{
	quick_exit(begin());
}

static int by_abort(void)
{
	begin();
	abort();
}

static int by_kill(void)
{
	begin();
	raise(SIGKILL);
	return 0;
}

static int by_term(void)
{
	begin();
	raise(SIGTERM);
	return 0;
}

static int by_segv(void)
{
	begin();
	raise(SIGSEGV);
	return 0;
}

static void *exits(void *unused)
{
	(void)unused;
	exit(begin());
}

__attribute__((noreturn)) static int in_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, exits, NULL);
	for (;;)
		pause();
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

/* Waits for a signal from outside, and ends in good order when it has come. */
static int waits(void)
{
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	begin();
	printf("ready\n");
	fflush(stdout);
	while (!interrupted)
		usleep(1000);
	printf("signal %d\n", (int)interrupted);
	return 5;
}

__attribute__((noreturn)) static int waits_for_death(void)
{
	begin();
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

static void *outlive(void *unused)
{
	usleep(100000);
	printf("last thread\n");
	fflush(stdout);
	return unused;
}

/* The process ends with its last thread. */
static int main_thread_leaves(void)
{
	pthread_t thread;
	begin();
	pthread_create(&thread, NULL, outlive, NULL);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = { { "return", by_return },
					     { "exit", by_exit },
					     { "_exit", by__exit },
					     { "_Exit", by__Exit },
					     { "quick_exit", by_quick_exit },
					     { "abort", by_abort },
					     { "kill", by_kill },
					     { "term", by_term },
					     { "segv", by_segv },
					     { "thread", in_thread },
					     { "main-leaves", main_thread_leaves },
					     { "waits", waits },
					     { "waits-for-death", waits_for_death },
					     { NULL, NULL } };
	return modes_run(modes, argc, argv);
}
