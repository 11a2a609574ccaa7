/* Threads that use CUDA: some that end, many at once, one that outlives main, some that are cancelled. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "test/prog/modes.h"
#include "test/prog/work.h"

static void *works(void *launches)
{
	return (void *)(intptr_t)work_some((int)(intptr_t)launches);
}

static int good(pthread_t thread)
{
	void *result = NULL;
	pthread_join(thread, &result);
	return result != NULL;
}

/* One after the other: each gives its chunk back for the next. */
static int ending(void)
{
	int sum = 0;
	for (int i = 0; i < 40; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, works, (void *)5);
		sum += good(thread);
	}
	printf("%d good\n", sum);
	return 0;
}

static int many(void)
{
	enum { THREADS = 16 };
	pthread_t threads[THREADS];
	int sum = 0;
	MUST(cudaFree(
		NULL)); /* a profiler may miss what threads do while another one's first call wakes it */
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, works, (void *)100);
	for (int i = 0; i < THREADS; i++)
		sum += good(threads[i]);
	printf("%d good\n", sum);
	return 0;
}

__attribute__((noreturn)) static void *comes_late(void *unused)
{
	(void)unused;
	usleep(150000); /* the collector asks every 20 ms whether the process lives */
	printf("late %s\n", work_some(4) ? "good" : "bad");
	exit(0);
}

/* main ends as a thread, not as the process: the other one goes on alone, and ends it (CUDA's own threads never would). */
static int late(void)
{
	pthread_t thread;
	work_some(2);
	pthread_create(&thread, NULL, comes_late, NULL);
	pthread_exit(NULL);
}

static atomic_int callers;

/* Still calling CUDA while exit runs. */
__attribute__((noreturn)) static void *never_stops(void *unused)
{
	(void)unused;
	for (bool is_first = true;; is_first = false) {
		void *p;
		if (!cudaMalloc(&p, 64))
			cudaFree(p);
		if (is_first)
			callers++;
	}
}

static int during_exit(void)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, never_stops, NULL);
	/* a first call that wakes a profiler takes as long as the machine lets it: the process must not end within it */
	while (callers < 3)
		usleep(1000);
	work_some(3);
	usleep(20000);
	printf("main is done\n");
	return 4;
}

static atomic_int called;

/* Cancelled before its first call: no call of CUDA's is a place where that may happen. */
static void *is_cancelled(void *event)
{
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	for (int i = 0; i < 3000; i++)
		called += cudaEventRecord(event, NULL) == cudaSuccess;
	pthread_testcancel();
	printf("was not cancelled\n");
	return NULL;
}

static sem_t all_are_cancelled;

static void *waits_to_be_cancelled(void *event)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (sem_wait(&all_are_cancelled))
		continue;
	return is_cancelled(event);
}

static int cancelled(void)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	cudaEvent_t event;
	sem_init(&all_are_cancelled, 0, 0);
	MUST(cudaEventCreate(&event));
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < THREADS; i++) {
			pthread_create(&threads[i], NULL, waits_to_be_cancelled, event);
			pthread_cancel(threads[i]);
		}
		for (int i = 0; i < THREADS; i++)
			sem_post(&all_are_cancelled);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		work_some(3);
	}
	printf("%d calls\n", called);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "ending", ending },		{ "many", many },	    { "late", late },
		{ "during-exit", during_exit }, { "cancelled", cancelled }, { NULL, NULL }
	};
	return modes_run(modes, argc, argv);
}
