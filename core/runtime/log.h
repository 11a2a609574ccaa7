/*
 * Writes log lines to stderr from inside the application. A line is formatted on the stack and
 * written with one write(2). errno is preserved. No function here allocates memory, takes a lock or
 * exits. Any thread may call log_line().
 *
 * A line is omitted if the write would block, or if descriptor 2 has become one of the
 * application's own files. The application never gets a signal because of a line. Omitted lines do
 * not hide lost records, because the journal counts those, too.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include <stdatomic.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Sets the highest level that is written: "error", "warn", "info" or "debug". Ignores any other
 * word. */
void log_set_level(const char *word);

/*
 * Remembers which file descriptor 2 is. Called when the process starts. Later lines are omitted if
 * descriptor 2 has become another file.
 */
void log_keep_stderr(void);

/* Writes one line with the prefix "profrun[PID]: ". `format` has no newline. */
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

/* Like log_line(), but each place in the code that uses it writes only one line per process. */
#define log_once(level, ...)                                \
	do {                                                \
		static atomic_flag said = ATOMIC_FLAG_INIT; \
		if (!atomic_flag_test_and_set(&said))       \
			log_line(level, __VA_ARGS__);       \
	} while (0)

#endif
