/* The functions of libsqlite3 that the format sqlite uses. */
#ifndef EXPORT_SQLITE_LOAD_H
#define EXPORT_SQLITE_LOAD_H

#include "core/runtime/err.h"

struct sqlite3;
struct sqlite3_stmt;

/* X(type, name without sqlite3_, arguments). The declarations are those of sqlite3.h. */
#define SQLITE_FUNCTIONS(X)                                                                  \
	X(int, open, (const char *, struct sqlite3 **))                                      \
	X(int, close, (struct sqlite3 *))                                                    \
	X(int, exec, (struct sqlite3 *, const char *, void *, void *, char **))              \
	X(int, prepare_v2,                                                                   \
	  (struct sqlite3 *, const char *, int, struct sqlite3_stmt **, const char **))      \
	X(int, bind_int64, (struct sqlite3_stmt *, int, long long))                          \
	X(int, bind_text, (struct sqlite3_stmt *, int, const char *, int, void (*)(void *))) \
	X(int, bind_null, (struct sqlite3_stmt *, int))                                      \
	X(int, step, (struct sqlite3_stmt *))                                                \
	X(int, reset, (struct sqlite3_stmt *))                                               \
	X(int, clear_bindings, (struct sqlite3_stmt *))                                      \
	X(int, finalize, (struct sqlite3_stmt *))                                            \
	X(const char *, errmsg, (struct sqlite3 *))

struct sqlite_functions {
#define X(type, name, arguments) type(*name) arguments;
	SQLITE_FUNCTIONS(X)
#undef X
};

/* Returns 0, or -ENOENT with one line in `e` if there is no usable libsqlite3. The functions stay
 * loaded until the process ends. */
int sqlite_load(struct sqlite_functions *to, struct err *e);

#endif
