/*
 * Lines on stderr from inside the application: formatted on the stack, one write(2), errno kept. Nothing here allocates,
 * locks or exits. Each call site of log_once speaks once per process. A line is left out rather than that the application takes a signal for
 * it, waits, or finds it in a file of its own: what was lost stands in the journal, too.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include <stdatomic.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(const char *word);

/* When the process begins: from now on nothing is written where descriptor 2 has become another file. */
void log_keep_stderr(void);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

#define log_once(level, ...)                                \
	do {                                                \
		static atomic_flag said = ATOMIC_FLAG_INIT; \
		if (!atomic_flag_test_and_set(&said))       \
			log_line(level, __VA_ARGS__);       \
	} while (0)

#endif
