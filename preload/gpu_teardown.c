#include "preload/gpu_teardown.h"

#include <errno.h>
#include <time.h>

enum {
	CUPTI_12_6 = 24, /* the first that survives it, as PyTorch's Kineto has found, too */
	WAIT_US = 100,
	WAIT_AT_MOST_MS = 5000, /* 2 to 20 ms; 0.9 s where eight threads did nothing but launch */
};

/* Each side says what it is about to do before it looks at what the other one does: both in one order, so one of them sees it. */
static struct {
	_Atomic bool has_graphs, has_contexts, is_shared, is_up, is_going_down;
} g;

static void forbid(_Atomic bool *reason)
{
	const struct timespec pause = { .tv_nsec = WAIT_US * 1000 };
	int saved = errno;
	atomic_store(reason, true);
	for (int us = 0; atomic_load(&g.is_going_down) && us < WAIT_AT_MOST_MS * 1000;
	     us += WAIT_US)
		nanosleep(&pause, NULL);
	errno = saved;
}

void gpu_teardown_graph(void)
{
	if (!atomic_load_explicit(&g.has_graphs, memory_order_relaxed))
		forbid(&g.has_graphs);
}

void gpu_teardown_context(void)
{
	if (atomic_load(&g.is_up))
		forbid(&g.has_contexts);
}

void gpu_teardown_is_up(bool up)
{
	atomic_store(&g.is_up, up);
}

void gpu_teardown_application(void)
{
	forbid(&g.is_shared);
}

bool gpu_teardown_begin(uint32_t version)
{
	if (version < CUPTI_12_6)
		return false;
	atomic_store(&g.is_going_down, true);
	if (!atomic_load(&g.has_graphs) && !atomic_load(&g.has_contexts) &&
	    !atomic_load(&g.is_shared))
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
}
