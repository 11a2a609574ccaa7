#include "preload/gpu_teardown.h"

#include <errno.h>
#include <time.h>

enum {
	/* first version that survives being taken down; PyTorch's Kineto has the same limit */
	CUPTI_12_6 = 24,
	CUPTI_13_0 = 130000, /* its update 1 is 130001 */
	WAIT_US = 100,
	/*
	 * Taking CUPTI down usually takes 2 to 20 ms; it took 0.9 s with eight threads that only
	 * launch.
	 */
	WAIT_AT_MOST_MS = 5000,
};

/*
 * One side takes CUPTI down; the other side makes graphs or contexts, or uses CUPTI itself. Each
 * side announces what it is about to do before it checks what the other side does. All accesses are
 * sequentially consistent, so at least one side sees the other's announcement.
 */
static struct {
	_Atomic bool has_graphs, has_contexts, is_shared, is_up, is_going_down;
	/* number of calls under way that create or destroy a context */
	atomic_int contexts_under_way;
} g;

static void wait_until_down(void)
{
	const struct timespec pause = { .tv_nsec = WAIT_US * 1000 };
	int saved = errno;
	for (int us = 0; atomic_load(&g.is_going_down) && us < WAIT_AT_MOST_MS * 1000;
	     us += WAIT_US)
		nanosleep(&pause, NULL);
	errno = saved;
}

static void forbid(_Atomic bool *reason)
{
	atomic_store(reason, true);
	wait_until_down();
}

/*
 * Checks has_graphs before is_going_down. If another thread has set has_graphs while CUPTI was
 * being taken down, this thread then also sees is_going_down. It waits as the other thread does.
 */
void gpu_teardown_graph(void)
{
	if (!atomic_load(&g.has_graphs) || atomic_load(&g.is_going_down))
		forbid(&g.has_graphs);
}

bool gpu_teardown_has_graphs(void)
{
	return atomic_load(&g.has_graphs);
}

void gpu_teardown_primary_context(void)
{
	if (!hook_thread.in_context)
		atomic_fetch_add(&g.contexts_under_way, 1);
	hook_thread.in_context = true;
	wait_until_down();
}

void gpu_teardown_context(void)
{
	if (atomic_load(&g.is_up))
		atomic_store(&g.has_contexts, true);
	gpu_teardown_primary_context();
}

void gpu_teardown_context_over(void)
{
	if (hook_thread.in_context)
		atomic_fetch_sub(&g.contexts_under_way, 1);
	hook_thread.in_context = false;
}

void gpu_teardown_is_up(bool up)
{
	atomic_store(&g.is_up, up);
}

void gpu_teardown_application(void)
{
	forbid(&g.is_shared);
}

bool gpu_teardown_kernels_stay(uint32_t version)
{
	return version == CUPTI_13_0;
}

bool gpu_teardown_begin(uint32_t version)
{
	if (version < CUPTI_12_6)
		return false;
	atomic_store(&g.is_going_down, true);
	if (!atomic_load(&g.has_graphs) && !atomic_load(&g.has_contexts) &&
	    !atomic_load(&g.is_shared) && !atomic_load(&g.contexts_under_way))
		return true;
	gpu_teardown_end();
	return false;
}

void gpu_teardown_end(void)
{
	atomic_store(&g.is_going_down, false);
}

void gpu_teardown_forget(void)
{
	atomic_store(&g.has_graphs, false);
	atomic_store(&g.has_contexts, false);
	atomic_store(&g.is_shared, false);
	atomic_store(&g.is_up, false);
	atomic_store(&g.is_going_down, false);
	atomic_store(&g.contexts_under_way, 0);
}
