/* An error message: one line of text for the user. Not for hot paths, because it formats text. */
#ifndef CORE_ERR_H
#define CORE_ERR_H

#include <stdarg.h>
#include <stdio.h>

struct err {
	char text[240];
};

/*
 * Writes a message to `e` (may be NULL) and returns `code`. So a function that fails can write
 * `return err_set(e, -EINVAL, ...)`.
 */
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
