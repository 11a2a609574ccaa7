/*
 * Log lines on stderr from inside the application: formatted on the stack, one write(2), errno
 * preserved. Nothing here allocates, locks or exits. Each call site of log_once logs once per
 * process.
 *
 * A line is omitted if writing it would send the application a signal, block it, or put the line
 * into one of its own files. What was lost is in the journal as well.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include <stdatomic.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(const char *word);

/* Called when the process starts. From then on nothing is written if descriptor 2 has become
 * another file. */
void log_keep_stderr(void);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

#define log_once(level, ...)                                \
	do {                                                \
		static atomic_flag said = ATOMIC_FLAG_INIT; \
		if (!atomic_flag_test_and_set(&said))       \
			log_line(level, __VA_ARGS__);       \
	} while (0)

#endif
