/* The files of a run that `profrun open` gives to a browser. */
#ifndef EXPORT_SERVED_FILES_H
#define EXPORT_SERVED_FILES_H

#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct served_file {
	char *name; /* below the run's folder */
	uint64_t bytes;
};

struct served_files {
	VEC(struct served_file) all; /* in natural order: step-9 before step-12 */
	size_t n_more;		     /* further files that were not listed */
};

/*
 * Opens a file for reading: one of the reports, run.json, or a file in a format's folder. Follows
 * no symbolic link. `folder`: a descriptor of the run's folder. `name` has no empty, "." or ".."
 * components. Returns a descriptor above 2, or -1 if there is no such file.
 */
int served_open(int folder, const char *name, uint64_t *bytes);

/* Lists the files in the formats' folders. The caller frees `to`. */
void served_list(int folder, struct served_files *to);
void served_free(struct served_files *f);

#endif
