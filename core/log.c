/* See log.h. The prefix carries the pid, so that lines of several ranks can be told apart. */
#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level threshold = LOG_WARN;

void log_set_level(const char *word)
{
	static const char *const words[] = { "error", "warn", "info", "debug" };
	for (int i = 0; i < 4; i++)
		if (!strcmp(word, words[i]))
			threshold = (enum log_level)i;
}

static void write_all(const char *p, size_t length)
{
	while (length) {
		ssize_t written = write(STDERR_FILENO, p, length);
		if (written < 0 && errno != EINTR)
			return;
		if (written > 0) {
			p += written;
			length -= (size_t)written;
		}
	}
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
		size_t room = sizeof(line) - 2, length = (size_t)n + (size_t)m;
		if (length > room)
			length = room;
		line[length++] = '\n';
		write_all(line, length);
	}
	errno = saved;
}
