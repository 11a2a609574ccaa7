/* Signal handlers that interrupt CUDA calls, or that continue after a fault. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

static const void *kernel;
static volatile sig_atomic_t n_handled;

static void count(int number)
{
	(void)number;
	n_handled++;
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

static void launch_some(int n)
{
	for (int i = 0; i < n; i++) {
		work_launch(kernel, 1, NULL);
		if (i % 50 == 49)
			MUST(cudaDeviceSynchronize());
	}
	MUST(cudaDeviceSynchronize());
}

/* Timers interrupt the calls, in a handler on its own stack. */
static int timers(void)
{
	static char stack[64 << 10];
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	sigaltstack(&other, NULL);
	handle(SIGALRM, count, SA_ONSTACK);
	handle(SIGPROF, count, SA_ONSTACK | SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	launch_some(20000);
	while (!n_handled)
		usleep(1000);
	setitimer(ITIMER_REAL, &never, NULL);
	setitimer(ITIMER_PROF, &never, NULL);
	printf("timers good\n");
	return 0;
}

static sigjmp_buf out_of_fault;

static void jump_out(int number)
{
	n_handled++;
	siglongjmp(out_of_fault, number);
}

/* As virtual machines do: a handler continues after a fault of the program's own. */
static int faults(void)
{
	volatile int n = 0;
	char *forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *file = tmpfile();
	if (forbidden == MAP_FAILED || !file || ftruncate(fileno(file), 4096))
		return 9;
	char *truncated = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
	if (truncated == MAP_FAILED || ftruncate(fileno(file), 0))
		return 9;
	handle(SIGSEGV, jump_out, SA_NODEFER);
	handle(SIGBUS, jump_out, SA_NODEFER);
	for (volatile int i = 0; i < 100; i++) {
		launch_some(20);
		int number = sigsetjmp(out_of_fault, 1);
		if (!number)
			n += *(volatile char *)(i % 2 ? forbidden : truncated);
		else if (number == (i % 2 ? SIGSEGV : SIGBUS))
			n++;
	}
	fclose(file);
	printf("faults: %d of %d\n", n, (int)n_handled);
	return 0;
}

static void *waits(void *set)
{
	int number = 0;
	for (int i = 0; i < 100; i++)
		sigwait(set, &number);
	return (void *)(long)number;
}

/* All signals are blocked; one thread waits for them. */
static int blocked(void)
{
	sigset_t all;
	pthread_t thread;
	void *last = NULL;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_create(&thread, NULL, waits, &all);
	for (int i = 0; i < 100; i++) {
		launch_some(10);
		pthread_kill(thread, SIGRTMIN + 1);
	}
	pthread_join(thread, &last);
	printf("blocked %s\n", (long)last == SIGRTMIN + 1 ? "good" : "bad");
	return 0;
}

static void end_well(int number)
{
	static const char text[] = "ended by the handler\n";
	ssize_t n = write(1, text, sizeof(text) - 1);
	_exit(n > 0 ? number : 1);
}

static int ends_in_handler(void)
{
	handle(SIGTERM, end_well, 0);
	launch_some(100);
	raise(SIGTERM);
	return 1;
}

/* A signal whose default action ends the process comes in the middle of calls. */
__attribute__((noreturn)) static int killed_by_timer(void)
{
	const struct itimerval once = { { 0, 0 }, { 0, 30000 } };
	setitimer(ITIMER_REAL, &once, NULL);
	for (;;)
		launch_some(100);
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = { { "timers", timers },
					     { "faults", faults },
					     { "blocked", blocked },
					     { "ends-in-handler", ends_in_handler },
					     { "killed-by-timer", killed_by_timer },
					     { NULL, NULL } };
	kernel = work_kernel("spin_5us");
	return modes_run(modes, argc, argv);
}
