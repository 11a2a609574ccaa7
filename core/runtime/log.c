/* See log.h. Each line begins with the pid, to distinguish the lines of several ranks. */
#include "core/runtime/log.h"

#include "core/runtime/at_start.h"
#include "core/runtime/utf8.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	WAIT_MOST_NS = 10000000, /* how long to wait for a slow reader of the pipe: 10 ms */
	SIGNALS_BYTES = 8,	 /* size of the kernel's sigset_t */
};

static enum log_level threshold = LOG_WARN;

/* The file that descriptor 2 was when log_keep_stderr() was called. */
static struct {
	dev_t device;
	ino_t inode;
	bool is, is_open; /* log_keep_stderr() was called; descriptor 2 was open then */
} kept START_DATA;

void log_set_level(const char *word)
{
	static const char *const words[] = { "error", "warn", "info", "debug" };
	for (int i = 0; i < 4; i++)
		if (!strcmp(word, words[i]))
			threshold = (enum log_level)i;
}

AT_START void log_keep_stderr(void)
{
	struct stat s;
	kept.is = true;
	kept.is_open = !fstat(STDERR_FILENO, &s);
	kept.device = s.st_dev;
	kept.inode = s.st_ino;
}

/*
 * Returns whether descriptor 2 is still the same file as at the process's start. In a daemon it may
 * not be: a daemon closes its descriptors, and the next file that it opens can get the number 2.
 */
static bool is_stderr(void)
{
	struct stat s;
	return !kept.is || (kept.is_open && !fstat(STDERR_FILENO, &s) && s.st_dev == kept.device &&
			    s.st_ino == kept.inode);
}

/*
 * Returns whether a line can be written without blocking. A write blocks if stderr is a full pipe
 * that no process reads. A line is shorter than PIPE_BUF, so it fits into every pipe that has room.
 * Makes the system call directly, because poll() is a cancellation point.
 */
static bool takes_a_line(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct timespec most = { .tv_nsec = WAIT_MOST_NS };
	long ready = syscall(SYS_ppoll, &p, 1, &most, NULL, 0);
	/* The call returns EINTR only if there is no room yet. Any other error, such as that of a
	 * seccomp filter, does not mean that there is no room. */
	return ready > 0 || (ready < 0 && errno != EINTR);
}

/*
 * Writes the line. If stderr is a pipe without a reader, or a file at its size limit (ulimit -f),
 * the kernel sends a signal to the thread. The application must not see this signal. So the signal
 * is blocked during the write, and a signal that the write caused is removed from the queue.
 */
static void write_line(const char *line, size_t length)
{
	static const struct timespec at_once;
	sigset_t sent, before, pending;
	sigemptyset(&sent);
	sigaddset(&sent, SIGPIPE);
	sigaddset(&sent, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &sent, &before);
	sigpending(&pending);
	ssize_t written = write(STDERR_FILENO, line, length);
	int taken = written >= 0 ? 0 : errno == EPIPE ? SIGPIPE : errno == EFBIG ? SIGXFSZ : 0;
	if (taken && !sigismember(&pending, taken)) {
		sigemptyset(&sent);
		sigaddset(&sent, taken);
		syscall(SYS_rt_sigtimedwait, &sent, NULL, &at_once, SIGNALS_BYTES);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Replaces what a terminal must not be sent by '?'. Names and settings come from outside. */
static void clean(char *line)
{
	char *to = line;
	for (const char *at = line; *at;) {
		size_t unsafe = utf8_unsafe_bytes(at), n = unsafe ? unsafe : utf8_valid_bytes(at);
		if (unsafe)
			*to++ = *at == '\t' || *at == '\n' ? ' ' : '?';
		else
			for (size_t i = 0; i < n; i++)
				*to++ = at[i];
		at += n;
	}
	*to = 0;
}

void log_line(enum log_level level, const char *format, ...)
{
	if (level > threshold)
		return;
	int saved = errno;
	char line[600];
	int n = snprintf(line, sizeof(line), "profrun[%d]: ", (int)getpid());
	va_list args;
	va_start(args, format);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	if (m > 0) {
		clean(line);
		size_t length = strlen(line);
		line[length++] = '\n';
		if (is_stderr() && takes_a_line())
			write_line(line, length);
	}
	errno = saved;
}
