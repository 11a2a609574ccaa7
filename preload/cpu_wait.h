/*
 * For how long a thread was ready to run while other threads had the CPUs. The kernel adds such a
 * wait to the thread's counter when it ends. The sampling thread reads the counter in each period,
 * so that a wait is known to lie between two readings.
 */
#ifndef PRELOAD_CPU_WAIT_H
#define PRELOAD_CPU_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On a busy machine, the thread that reads may lose its CPU between any two lines. So a reading has
 * two times. */
struct cpu_wait_reading {
	uint64_t before_ticks, after_ticks; /* hook_ticks() */
	uint64_t before_ns, after_ns;	    /* CLOCK_MONOTONIC, not earlier than before_ticks and
						not later than after_ticks */
	uint64_t cpu_ns;		    /* the thread's CPU time */
	uint64_t wait_ns;		    /* its waits that have ended */
};

/* What is kept of a thread; all zeros: no reading. */
struct cpu_wait {
	struct cpu_wait_reading last;
	/* the reading before the last period in which the thread has run: if it waits, it waits
	 * since then */
	uint64_t ran_ticks;
};

/* Takes the next reading. Returns how long the thread waited, and the reading since which in
 * `begin_ticks`; 0: it did not wait, or this is the first reading. */
uint64_t cpu_wait_take(struct cpu_wait *w, const struct cpu_wait_reading *now,
		       uint64_t *begin_ticks);

/* The CPU time of the process's children that have ended, such as a data loader's workers. */
struct cpu_wait_children {
	uint64_t at_ns, cpu_ns;
};

/* Reads it now. */
struct cpu_wait_children cpu_wait_read_children(void);

/* Writes how many CPUs the children used since `from`, and how many the process may use: "1.25 of
 * 2". Returns false if they used none. */
bool cpu_wait_describe_children(const struct cpu_wait_children *from, char *to, size_t bytes);

/* Returns the CPU time of another thread of this process, in ns; 0: it has ended. */
uint64_t cpu_wait_cpu_ns(uint32_t tid);

#endif
