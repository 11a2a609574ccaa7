#include "core/demangle.h"
#include "core/vec.h"
char *demangle_rust(const char *name)
{
	(void)name;
	return NULL;
}
