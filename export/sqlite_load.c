/* See sqlite_load.h. Opens the library only when the format is used, so that profrun also starts
 * where it is missing. */
#include "export/sqlite_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#define LIBRARY "libsqlite3.so.0"

int sqlite_load(struct sqlite_functions *to, struct err *e)
{
	static void *library;
	bool has_all = true;
	if (!library)
		library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return err_set(e, -ENOENT,
			       "the format sqlite needs " LIBRARY ", which is not installed "
			       "(Debian: libsqlite3-0)");
#define X(type, name, arguments)                                \
	*(void **)&to->name = dlsym(library, "sqlite3_" #name); \
	has_all &= to->name != NULL;
	SQLITE_FUNCTIONS(X)
#undef X
	return has_all ? 0 : err_set(e, -ENOENT, LIBRARY " lacks functions that profrun needs");
}
