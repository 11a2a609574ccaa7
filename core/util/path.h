/* File names. */
#ifndef CORE_PATH_H
#define CORE_PATH_H

#include <stdbool.h>
#include <string.h>

/* Returns what follows the last slash, or all of it if there is none. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/*
 * Whether `path` ends with `end` at a separator: "torch/optim/adam.py" ends with "optim/adam.py",
 * not with "tim/adam.py".
 */
static inline bool path_ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), most = strlen(end);
	return n >= most && !strcmp(path + n - most, end) &&
	       (n == most || path[n - most - 1] == '/');
}

#endif
