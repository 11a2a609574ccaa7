/* See cpu_wait.h. */
#include "preload/cpu_wait.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
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

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_usec * 1000;
}

struct cpu_wait_children cpu_wait_read_children(void)
{
	struct rusage use = { 0 };
	struct timespec now = { 0 };
	getrusage(RUSAGE_CHILDREN, &use);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct cpu_wait_children){
		.at_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec,
		.cpu_ns = ns_of(use.ru_utime) + ns_of(use.ru_stime),
	};
}

bool cpu_wait_describe_children(const struct cpu_wait_children *from, char *to, size_t bytes)
{
	struct cpu_wait_children now = cpu_wait_read_children();
	cpu_set_t cpus;
	if (!from->at_ns || now.cpu_ns <= from->cpu_ns || sched_getaffinity(0, sizeof(cpus), &cpus))
		return false;
	snprintf(to, bytes, "%.2f of %d",
		 (double)(now.cpu_ns - from->cpu_ns) / (double)(now.at_ns - from->at_ns),
		 CPU_COUNT(&cpus));
	return true;
}
