/*
 * In place of export/sqlite_load.c in the portable tool. It is a static program, which cannot open
 * libraries on a machine with another glibc. So it is linked with libsqlite3.a, and the linker
 * turns calls of functions that would open libraries to those below (--wrap, Makefile).
 */
#include "export/sqlite_load.h"

#include <pwd.h>
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *library, const char *name);
int __wrap_dlclose(void *library);
char *__wrap_dlerror(void);
struct passwd *__wrap_getpwuid(uid_t user);

#define X(type, name, arguments) extern type sqlite3_##name arguments;
SQLITE_FUNCTIONS(X)
#undef X

int sqlite_load(struct sqlite_functions *to, struct err *e)
{
	(void)e;
#define X(type, name, arguments) to->name = sqlite3_##name;
	SQLITE_FUNCTIONS(X)
#undef X
	return 0;
}

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

void *__wrap_dlsym(void *library, const char *name)
{
	(void)library;
	(void)name;
	return NULL;
}

int __wrap_dlclose(void *library)
{
	(void)library;
	return 0;
}

char *__wrap_dlerror(void)
{
	static char text[] = "a static program opens no libraries";
	return text;
}

/* glibc asks libraries that /etc/nsswitch.conf names. */
struct passwd *__wrap_getpwuid(uid_t user)
{
	(void)user;
	return NULL;
}
