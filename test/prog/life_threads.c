/*
 * Threads that live and end in unusual ways while they use CUDA. Every mode prints the number of
 * pieces of work that succeeded, which does not depend on time.
 */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

static atomic_int n_good;
static const void *kernel;

static int report(const char *what)
{
	printf("%s: %d good\n", what, (int)n_good);
	return 0;
}

/* Launches on a stream of its own. */
static void stream_work(int n_launches)
{
	cudaStream_t stream;
	MUST(cudaStreamCreate(&stream));
	for (int i = 0; i < n_launches; i++)
		work_launch(kernel, 1 + (unsigned)i % 7, stream);
	MUST(cudaStreamSynchronize(stream));
	MUST(cudaStreamDestroy(stream));
	n_good++;
}

static void *works(void *n_launches)
{
	stream_work((int)(intptr_t)n_launches);
	return NULL;
}

static void start_and_join(int n, void *(*task)(void *), void *argument, size_t stack_bytes)
{
	pthread_t threads[256];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attributes, task, argument))
			exit(9);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attributes);
}

static pthread_barrier_t all_are_there;

static void *works_together(void *n_launches)
{
	pthread_barrier_wait(&all_are_there);
	return works(n_launches);
}

static int many(void)
{
	pthread_barrier_init(&all_are_there, NULL, 256);
	start_and_join(256, works_together, (void *)20, 0);
	return report("256 threads");
}

static int churn(void)
{
	for (int i = 0; i < 100; i++)
		start_and_join(8, works, (void *)3, 0);
	return report("churn");
}

static int small_stacks(void)
{
	for (int i = 0; i < 4; i++)
		start_and_join(32, works, (void *)10, (size_t)PTHREAD_STACK_MIN + (16 << 10));
	return report("small stacks");
}

static atomic_int n_running;

static void *works_detached(void *n_launches)
{
	stream_work((int)(intptr_t)n_launches);
	n_running--;
	return NULL;
}

static int detached(void)
{
	pthread_t thread;
	for (int i = 0; i < 100; i++) {
		n_running++;
		if (pthread_create(&thread, NULL, works_detached, (void *)5))
			return 9;
		pthread_detach(thread);
	}
	while (n_running)
		usleep(1000);
	return report("detached");
}

enum { N_FIBERS = 32, FIBER_BYTES = 128 << 10, N_PIECES = 10 };

struct fiber {
	ucontext_t here, caller;
	char *stack;
	int n_left;
};

static struct fiber fibers[N_FIBERS];

static void fiber_main(int number)
{
	struct fiber *f = &fibers[number];
	while (f->n_left--) {
		stream_work(3);
		swapcontext(&f->here, &f->caller);
	}
}

/* Continues each fiber once. */
static void *run_fibers(void *unused)
{
	for (int i = 0; i < N_FIBERS; i++)
		swapcontext(&fibers[i].caller, &fibers[i].here);
	return unused;
}

/* Coroutines on stacks of their own, continued by another thread each time. */
static int run_as_fibers(void)
{
	for (int i = 0; i < N_FIBERS; i++) {
		struct fiber *f = &fibers[i];
		f->stack = malloc(FIBER_BYTES);
		f->n_left = N_PIECES;
		getcontext(&f->here);
		f->here.uc_stack.ss_sp = f->stack;
		f->here.uc_stack.ss_size = FIBER_BYTES;
		f->here.uc_link = &f->caller;
		makecontext(&f->here, (void (*)(void))fiber_main, 1, i);
	}
	for (int piece = 0; piece < N_PIECES; piece++)
		if (piece % 2)
			start_and_join(1, run_fibers, NULL, 0);
		else
			run_fibers(NULL);
	for (int i = 0; i < N_FIBERS; i++)
		free(fibers[i].stack); /* the fibers never end */
	return report("fibers");
}

static sem_t has_worked, never;

static void cleans_up(void *unused)
{
	(void)unused;
	stream_work(2);
}

static void *waits_for_ever(void *unused)
{
	pthread_cleanup_push(cleans_up, NULL);
	stream_work(2);
	sem_post(&has_worked);
	while (sem_wait(&never))
		continue;
	pthread_cleanup_pop(0);
	return unused;
}

/* The cancelled thread's cleanup handler uses CUDA, too. */
static int cancelled(void)
{
	sem_init(&has_worked, 0, 0);
	sem_init(&never, 0, 0);
	for (int i = 0; i < 100; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, waits_for_ever, NULL))
			return 9;
		while (sem_wait(&has_worked))
			continue;
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
	return report("cancelled");
}

static pthread_key_t key;

/* Sets the key again, so that the destructor is called in every round. */
static void destroys(void *round)
{
	stream_work(2);
	if ((intptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, (char *)round + 1);
}

static void *sets_key(void *uses_cuda)
{
	pthread_setspecific(key, (void *)1);
	if (uses_cuda)
		stream_work(2);
	return NULL;
}

static int thread_keys(void)
{
	pthread_key_create(&key, destroys);
	start_and_join(16, sets_key, (void *)1, 0);
	start_and_join(16, sets_key, NULL, 0);
	return report("keys");
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = { { "many", many },
					     { "churn", churn },
					     { "small-stacks", small_stacks },
					     { "detached", detached },
					     { "fibers", run_as_fibers },
					     { "cancelled", cancelled },
					     { "keys", thread_keys },
					     { NULL, NULL } };
	kernel = work_kernel("spin_5us");
	return modes_run(modes, argc, argv);
}
