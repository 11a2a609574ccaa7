/* See work.h. */
#include "core/util/work.h"

#include <math.h>
#include <stdatomic.h>

/* A reader may see a mixture of two stages for a moment, which is no harm on a line that is written
 * again soon. */
static struct {
	_Atomic(const char *) what;
	_Atomic uint64_t total, done;
} work;

void work_begin(const char *what, uint64_t total)
{
	atomic_store(&work.done, 0);
	atomic_store(&work.total, total);
	atomic_store(&work.what, what);
}

void work_add(uint64_t n)
{
	atomic_fetch_add_explicit(&work.done, n, memory_order_relaxed);
}

void work_reach(uint64_t n)
{
	atomic_store_explicit(&work.done, n, memory_order_relaxed);
}

const char *work_now(double *share)
{
	const char *what = atomic_load(&work.what);
	uint64_t total = atomic_load(&work.total), done = atomic_load(&work.done);
	*share = total ? fmin(1, (double)done / (double)total) : NAN;
	return what ? what : "";
}
