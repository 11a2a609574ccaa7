/*
 * Finds the versions of the driver, CUDA, CUPTI and PyTorch in a live process from the names of the
 * files that it has mapped, without running code in it.
 */
#ifndef EXPORT_VERSIONS_H
#define EXPORT_VERSIONS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum { VERSION_BYTES = 64 };

/* "": not known. */
struct versions {
	char driver[VERSION_BYTES], cuda_runtime[VERSION_BYTES], cupti[VERSION_BYTES],
		torch[VERSION_BYTES];
};

/* Adds the versions that `pid` has mapped so far. */
void versions_read(struct versions *v, uint32_t pid);

/* The same from lines in the format of /proc/PID/maps. */
void versions_take(struct versions *v, FILE *maps);

/*
 * Returns a new reference, or NULL if no version is known. `python`: the version that the process
 * reported, such as "3.12.3", which a colon and a problem may follow; NULL: none was reported.
 */
json_t *versions_describe(const struct versions *v, const char *python);

#endif
