/* An error message: one line for a person to read. Not for hot paths: it formats text. */
#ifndef CORE_ERR_H
#define CORE_ERR_H

#include <stdarg.h>
#include <stdio.h>

struct err {
	char text[240];
};

/* Fills `e` (may be NULL) and returns `code`, so that a caller can `return err_set(e, -EINVAL,
 * ...)`. */
__attribute__((format(printf, 3, 4))) static inline int err_set(struct err *e, int code,
								const char *format, ...)
{
	if (e) {
		va_list args;
		va_start(args, format);
		vsnprintf(e->text, sizeof(e->text), format, args);
		va_end(args);
	}
	return code;
}

#endif
