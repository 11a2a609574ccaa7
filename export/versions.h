/* Which versions of the driver, CUDA, CUPTI and PyTorch a live process has, by the files that it has mapped: nothing in it is asked. */
#ifndef EXPORT_VERSIONS_H
#define EXPORT_VERSIONS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum { VERSION_BYTES = 64 };

/* "" for what is not known. */
struct versions {
	char driver[VERSION_BYTES], cuda_runtime[VERSION_BYTES], cupti[VERSION_BYTES],
		torch[VERSION_BYTES];
};

/* Adds what `pid` has by now. */
void versions_read(struct versions *v, uint32_t pid);

/* The same of lines like those of /proc/PID/maps. */
void versions_take(struct versions *v, FILE *maps);

/* `python`: as the process told it ("3.12.3", with or without what is wrong with it behind a colon), NULL: it did not. New reference; NULL
 * where nothing is known. */
json_t *versions_describe(const struct versions *v, const char *python);

#endif
