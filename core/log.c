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
		size_t length = (size_t)(n + m) < sizeof(line) - 2 ? (size_t)(n + m) : sizeof(line) - 2;
		line[length++] = '\n';
		for (const char *p = line; length;) {
			ssize_t written = write(STDERR_FILENO, p, length);
			if (written < 0 && errno != EINTR)
				break;
			if (written > 0) {
				p += written;
				length -= (size_t)written;
			}
		}
	}
	errno = saved;
}
