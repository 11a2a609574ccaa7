/*
 * Finds the versions of the driver, CUDA, CUPTI and PyTorch in a live process, without running code
 * in the process. The names of the files that the process has mapped contain the versions; that of
 * PyTorch is read from a file next to its libraries.
 */
#ifndef EXPORT_VERSIONS_H
#define EXPORT_VERSIONS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum { VERSION_BYTES = 64 };

/* A version is "" if it is not known. */
struct versions {
	char driver[VERSION_BYTES], cuda_runtime[VERSION_BYTES], cupti[VERSION_BYTES],
		torch[VERSION_BYTES];
};

/* Adds the versions of the files that `pid` has mapped so far. */
void versions_read(struct versions *v, uint32_t pid);

/* Does the same for lines in the format of /proc/PID/maps. */
void versions_take(struct versions *v, FILE *maps);

/*
 * Returns the versions as JSON, or NULL if none is known. The caller owns the reference. `python`:
 * the version that the process reported, such as "3.12.3", or NULL. A colon and a problem may
 * follow the version.
 */
json_t *versions_describe(const struct versions *v, const char *python);

#endif
