/* See host_native.h. */
#include "preload/host_native.h"

#include "preload/hook.h"
#include "preload/python_sample.h"
#include "preload/stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Both clocks at one moment. */
struct moment {
	uint64_t ticks, ns;
};

enum {
	/* From then on, the rate of the ticks is known to within 0.1 %: the two clocks are read
	 * within some microseconds. */
	RATE_LEAST_NS = 5000000,
	PARANOID_MOST = 2, /* kernel.perf_event_paranoid up to which the kernel allows it */
};

/* The sampling thread sets the flags. At exit, another thread reads them while it still samples. */
static struct {
	struct moment first, now;
	atomic_bool has_walked;	 /* a blocked thread's stack had frames */
	atomic_bool has_blocked; /* a thread was blocked at a place that the kernel says */
	atomic_bool has_perf;
	atomic_bool has_python; /* running threads are sampled by their Python frames */
	atomic_int perf_error;	/* errno; 0: none, or not tried */
} g;

bool host_native_walk(const struct host_state *now)
{
	/* A walk looks up the address before `ip`, as for a return address. */
	struct unwind_regs regs = { now->pc + now->is_fault, now->sp, UNWIND_BP_UNKNOWN };
	if (!now->sp || !now->pc)
		return false;
	bool has_frames = stack_walk_sample(&regs, NULL);
	g.has_blocked = true;
	if (has_frames)
		g.has_walked = true;
	return has_frames;
}

void host_native_open(struct host_perf *p, uint32_t tid, uint32_t hz)
{
	if (p->ring || p->failed)
		return;
	if (host_perf_open(p, tid, hz))
		g.has_perf = true;
	else if (!g.perf_error)
		g.perf_error = errno;
}

void host_native_tick(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	g.now = (struct moment){ hook_ticks(),
				 (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec };
	if (!g.first.ns)
		g.first = g.now;
	g.has_python = python_sample_is_ready();
}

/* Converts a time to ticks; 0: not yet known, or in the future. */
static uint64_t ticks_at(uint64_t ns)
{
	uint64_t span_ns = g.now.ns - g.first.ns;
	if (span_ns < RATE_LEAST_NS || ns > g.now.ns)
		return 0;
	double rate = (double)(g.now.ticks - g.first.ticks) / (double)span_ns;
	return g.now.ticks - (uint64_t)((double)(g.now.ns - ns) * rate);
}

bool host_native_take(struct host_perf *p, uint64_t *ticks, uint32_t *stack)
{
	static const struct stack_python no_python = { 0 };
	struct host_perf_sample s;
	while (host_perf_take(p, &s)) {
		*ticks = ticks_at(s.ns);
		if (!*ticks || !stack_walk_sample(&s.regs, &s.window) || stack_sample_is_own())
			continue;
		*stack = stack_of_sample(&no_python, true);
		if (*stack)
			return true;
	}
	return false;
}

/* Returns kernel.perf_event_paranoid; -1: unknown. */
static int read_paranoid(void)
{
	char text[16] = "";
	int file = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	long n = syscall(SYS_read, file, text, sizeof(text) - 1);
	close(file);
	return n > 0 ? atoi(text) : -1;
}

static void describe_running(char *text, size_t bytes)
{
	int paranoid = read_paranoid();
	if (g.has_perf)
		snprintf(text, bytes, "running threads by perf");
	else if (g.has_python)
		snprintf(text, bytes, "running threads: Python frames only");
	else if (!g.perf_error)
		snprintf(text, bytes, "running threads: none sampled");
	else if (paranoid > PARANOID_MOST)
		snprintf(text, bytes,
			 "running threads: not available (kernel.perf_event_paranoid is %d)",
			 paranoid);
	else
		snprintf(text, bytes, "running threads: not available (perf_event_open: error %d)",
			 g.perf_error);
}

void host_native_describe(char *text, size_t bytes)
{
	const char *blocked = g.has_walked    ? "blocked threads"
			      : g.has_blocked ? "blocked threads: not available (no unwinder)"
					      : "blocked threads: none seen";
	int used = snprintf(text, bytes, "%s; ", blocked);
	describe_running(text + used, bytes - (size_t)used);
}

void host_native_forget(void)
{
	memset(&g, 0, sizeof(g));
}
