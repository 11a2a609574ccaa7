/* What another thread of this process does: it runs, or the kernel has blocked it in some way. */
#ifndef PRELOAD_HOST_STATE_H
#define PRELOAD_HOST_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct host_state {
	uint8_t state; /* enum sample_state; SAMPLE_GIL is not distinguished from SAMPLE_LOCK */
	uint32_t system_call; /* the one that blocks; 0: none or unknown */
	uint64_t futex;	      /* SAMPLE_LOCK: the address that is waited for */
	uint64_t print;	      /* hash of the call, its arguments and the stack pointer */
	/* Of a blocked thread, in user code; 0: unknown. `pc`: the instruction after the system
	 * call; is_fault: the instruction that caused a page fault. */
	uint64_t sp, pc;
	bool is_fault;
};

/* Reads the state of the thread `tid`. `file`: a descriptor that is kept for the thread's next
 * sample, -1: not open. */
struct host_state host_state_read(uint32_t tid, int *file);

/* What the kernel counts of a thread. */
struct host_sched {
	uint64_t wait_ns;  /* time for which it was ready to run, but not on a CPU, without the
			      current wait */
	uint64_t arrivals; /* how often it was put on a CPU; 0: unknown */
};

/* Reads the thread's counters. `file`: as above. */
struct host_sched host_state_sched(uint32_t tid, int *file);

/* Interprets the text of /proc/TID/syscall. For host_state_read() and its test. */
struct host_state host_state_parse(const char *text);

#endif
