/* libstdc++'s demangler: the same names that every other tool shows. */
#include "core/demangle.h"

#include "core/vec.h"

extern char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

char *demangle(const char *name)
{
	int status = -1;
	char *readable = NULL;
	if (!strncmp(name, "_Z", 2))
		readable = __cxa_demangle(name, NULL, NULL, &status);
	return readable && !status ? readable : mem_text(name);
}
