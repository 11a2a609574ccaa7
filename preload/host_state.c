/*
 * See host_state.h. /proc/self/task/TID/syscall contains "running", or the number of the system
 * call that blocks the thread, its six arguments, the stack pointer and the program counter; or
 * "-1" and these two if the thread is blocked outside a system call, in a page fault. One read
 * takes 3 us. A kernel without this file
 * (CONFIG_HAVE_ARCH_TRACEHOOK) has /proc/self/task/TID/stat, which says only whether it is blocked.
 */
#include "preload/host_state.h"

#include "core/runtime/kinds.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	long number;
	enum sample_state state;
} calls[] = {
	{ SYS_futex, SAMPLE_LOCK },
#ifdef SYS_futex_waitv
	{ SYS_futex_waitv, SAMPLE_LOCK },
#endif
	{ SYS_nanosleep, SAMPLE_SLEEP },   { SYS_clock_nanosleep, SAMPLE_SLEEP },
#ifdef SYS_poll /* x86-64 */
	{ SYS_poll, SAMPLE_POLL },	   { SYS_select, SAMPLE_POLL },
	{ SYS_epoll_wait, SAMPLE_POLL },   { SYS_open, SAMPLE_IO },
#endif
	{ SYS_ppoll, SAMPLE_POLL },	   { SYS_pselect6, SAMPLE_POLL },
	{ SYS_epoll_pwait, SAMPLE_POLL },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, SAMPLE_POLL },
#endif
	{ SYS_recvfrom, SAMPLE_POLL },	   { SYS_recvmsg, SAMPLE_POLL },
	{ SYS_sendto, SAMPLE_POLL },	   { SYS_sendmsg, SAMPLE_POLL },
	{ SYS_accept, SAMPLE_POLL },	   { SYS_accept4, SAMPLE_POLL },
	{ SYS_connect, SAMPLE_POLL },	   { SYS_wait4, SAMPLE_CHILD },
	{ SYS_waitid, SAMPLE_CHILD },	   { SYS_read, SAMPLE_IO },
	{ SYS_readv, SAMPLE_IO },	   { SYS_pread64, SAMPLE_IO },
	{ SYS_preadv, SAMPLE_IO },	   { SYS_write, SAMPLE_IO },
	{ SYS_writev, SAMPLE_IO },	   { SYS_pwrite64, SAMPLE_IO },
	{ SYS_pwritev, SAMPLE_IO },	   { SYS_openat, SAMPLE_IO },
	{ SYS_fsync, SAMPLE_IO },	   { SYS_fdatasync, SAMPLE_IO },
	{ SYS_sendfile, SAMPLE_IO },	   { SYS_getdents64, SAMPLE_IO },
};

/* Returns whether the call waits for time alone: Python up to 3.10 sleeps in select(). */
static bool is_sleep(long number, uint64_t first_argument)
{
#ifdef SYS_select
	if (number == SYS_select)
		return !first_argument;
#endif
	return number == SYS_pselect6 && !first_argument;
}

/* Reads the last two numbers of the text. */
static void parse_place(const char *text, struct host_state *s)
{
	const char *pc = strrchr(text, ' '), *sp = pc;
	while (sp && sp > text && sp[-1] != ' ')
		sp--;
	if (!pc || sp == text)
		return;
	s->sp = strtoull(sp, NULL, 16);
	s->pc = strtoull(pc, NULL, 16);
}

struct host_state host_state_parse(const char *text)
{
	struct host_state s = { .state = SAMPLE_UNKNOWN };
	char *end;
	if (!strncmp(text, "running", 7))
		return (struct host_state){ .state = SAMPLE_RUNNING };
	long number = strtol(text, &end, 10);
	if (end == text || *end != ' ')
		return s;
	parse_place(text, &s);
	if (number < 0) {
		s.state = SAMPLE_IO;
		s.is_fault = true;
		return s;
	}
	uint64_t first = strtoull(end, NULL, 16);
	s.state = SAMPLE_BLOCKED;
	s.system_call = (uint32_t)number;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			s.state = (uint8_t)calls[i].state;
	if (is_sleep(number, first))
		s.state = SAMPLE_SLEEP;
	if (s.state == SAMPLE_LOCK)
		s.futex = first;
	return s;
}

/* Reads a file of the thread from its start. Returns false if there is none. */
static bool read_file(uint32_t tid, const char *name, int *file, char *text, size_t bytes)
{
	char path[64];
	if (*file < 0) {
		snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
		*file = open(path, O_RDONLY | O_CLOEXEC);
	}
	long n = *file < 0 ? -1 : syscall(SYS_pread64, *file, text, bytes - 1, 0);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

static bool lacks_file; /* this kernel has no file `syscall` */

struct host_state host_state_read(uint32_t tid, int *file)
{
	char text[256];
	if (!lacks_file && read_file(tid, "syscall", file, text, sizeof(text))) {
		struct host_state s = host_state_parse(text);
		for (const char *c = text; *c; c++)
			s.print = s.print * 31 + (unsigned char)*c;
		return s;
	}
	if (!lacks_file && *file >= 0)
		return (struct host_state){ .state = SAMPLE_UNKNOWN }; /* the thread has ended */
	lacks_file = true;
	if (!read_file(tid, "stat", file, text, sizeof(text)))
		return (struct host_state){ .state = SAMPLE_UNKNOWN };
	const char *state = strrchr(text, ')');
	if (!state || state[1] != ' ')
		return (struct host_state){ .state = SAMPLE_UNKNOWN };
	return (struct host_state){ .state = state[2] == 'R'   ? SAMPLE_RUNNING
					     : state[2] == 'D' ? SAMPLE_IO
							       : SAMPLE_BLOCKED };
}

/* The file has three numbers: CPU time, time of waiting for a CPU, and the number of arrivals. */
struct host_sched host_state_sched(uint32_t tid, int *file)
{
	char text[96], *at = text;
	struct host_sched s = { 0 };
	if (!read_file(tid, "schedstat", file, text, sizeof(text)))
		return s;
	strtoull(at, &at, 10);
	s.wait_ns = strtoull(at, &at, 10);
	s.arrivals = strtoull(at, NULL, 10);
	return s;
}
