/* See cpu_wait.h. */
#include "preload/cpu_wait.h"

#include <time.h>

uint64_t cpu_wait_take(struct cpu_wait *w, const struct cpu_wait_reading *now,
		       uint64_t *begin_ticks)
{
	struct cpu_wait_reading last = w->last;
	bool is_first = !last.after_ticks;
	uint64_t ran_ns = now->cpu_ns - last.cpu_ns;
	uint64_t ends_ns = last.after_ns + ran_ns; /* if it was on a CPU all the time */
	uint64_t off_ns = now->before_ns > ends_ns ? now->before_ns - ends_ns : 0;
	uint64_t waited_ns = now->wait_ns > last.wait_ns ? now->wait_ns - last.wait_ns : 0;
	w->last = *now;
	if (is_first) {
		w->ran_ticks = now->before_ticks;
		return 0;
	}
	/* a wait that is longer than this period without the CPU began in an earlier one */
	*begin_ticks = waited_ns <= off_ns ? last.before_ticks : w->ran_ticks;
	if (ran_ns)
		w->ran_ticks = last.before_ticks;
	return waited_ns;
}

uint64_t cpu_wait_cpu_ns(uint32_t tid)
{
	/* The clock of one thread's CPU time, as pthread_getcpuclockid() makes it. Unlike the time
	 * in /proc, it counts up to this moment. */
	enum { PER_THREAD = 4, SCHEDULED = 2, SHIFT = 3 };
	struct timespec t = { 0 };
	clockid_t clock = (clockid_t)(~tid << SHIFT | PER_THREAD | SCHEDULED);
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}
