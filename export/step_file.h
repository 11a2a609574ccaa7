/* One file of an output format while it is written. It holds one step or several, in order. It
 * appears completely or not at all. */
#ifndef EXPORT_STEP_FILE_H
#define EXPORT_STEP_FILE_H

#include "export/exporter.h"

struct step_file;

/* Begins a file in the folder of `path`, which need not be its final name. Returns 0, or -errno
 * with one line in `e`. The format must not have `write_step`. */
int step_file_open(struct step_file **to, const struct exporter *x, const char *path,
		   struct err *e);
void step_file_add(struct step_file *f, const struct analyzed_step *step);

/* Finishes the file, gives it the name `path`, in the folder in which it was opened, and frees `f`.
 * Returns 0, or -errno with one line in `e`; there is no file then. */
int step_file_close(struct step_file *f, const char *path, struct err *e);

/* Removes the unfinished file and frees `f`, which may be NULL. */
void step_file_abandon(struct step_file *f);

/* Writes a file that contains one step. Returns 0 or -errno. */
int step_file_write(const struct exporter *x, const struct analyzed_step *step, const char *path,
		    struct err *e);

#endif
