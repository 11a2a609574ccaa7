/* Names of files. */
#ifndef CORE_PATH_H
#define CORE_PATH_H

#include <string.h>

/* What follows the last slash; all of it where there is none. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

#endif
