/* Helpers for paths of files. */
#ifndef CORE_PATH_H
#define CORE_PATH_H

#include <stdbool.h>
#include <string.h>

/* Returns the part of the path after its last slash, or the whole path if it has no slash. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/*
 * Returns true if the last components of `path` are `end`. "torch/optim/adam.py" ends with
 * "optim/adam.py", but not with "tim/adam.py".
 */
static inline bool path_ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), most = strlen(end);
	return n >= most && !strcmp(path + n - most, end) &&
	       (n == most || path[n - most - 1] == '/');
}

#endif
