/*
 * See low_priority.h. Unprivileged processes can lower the priority of a thread but not raise it
 * again. So the work is done by a thread of its own, for which the caller waits.
 */
#include "export/low_priority.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	LOWER = 10,	       /* steps of nice */
	STACK_BYTES = 8 << 20, /* as main threads have by default */
};

struct task {
	void (*work)(void *context);
	void *context;
};

/* Where the kernel schedules sessions as groups (autogroup), a thread's nice value counts only
 * within its session. Anybody may set that of the session to 0 again, but only ten times a second:
 * after a very short run, the session's may stay low. */
static void set_session(int nice)
{
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	dprintf(fd, "%d", nice);
	close(fd);
}

/* In Linux, this changes the priority of the calling thread only. Beyond the lowest priority, it
 * sets that one. */
static void lower_this_thread(void)
{
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + LOWER);
}

static void *do_task(void *task)
{
	const struct task *t = task;
	lower_this_thread();
	t->work(t->context);
	return NULL;
}

static int start(pthread_t *thread, struct task *task)
{
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);
	if (error)
		return error;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(thread, &attributes, do_task, task);
	pthread_attr_destroy(&attributes);
	return error;
}

void low_priority_run(void (*work)(void *context), void *context)
{
	static bool is_low; /* there was no thread */
	struct task task = { work, context };
	pthread_t thread;
	if (is_low) {
		work(context);
		return;
	}
	/* one heap: memory that one of the threads has freed serves the other, too */
	mallopt(M_ARENA_MAX, 1);
	set_session(LOWER);
	if (start(&thread, &task)) {
		is_low = true;
		do_task(&task);
		return;
	}
	pthread_join(thread, NULL);
	set_session(0);
}
