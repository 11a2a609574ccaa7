/*
 * A file that appears whole or not at all: it is written under a temporary name, synced and
 * renamed. It may be compressed with gzip. After an error, writes do nothing, and closing the file
 * returns that error.
 */
#ifndef EXPORT_OUTFILE_H
#define EXPORT_OUTFILE_H

#include "core/runtime/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct z_stream_s;

struct outfile {
	int fd, error;
	char path[PATH_MAX], hidden[PATH_MAX];
	struct z_stream_s *z; /* NULL: not compressed */
	uint8_t *packed;
	uint64_t bytes_in, bytes_out;
};

/* Opens a file; makes missing folders. `level`: 0 plain, 1 to 9 gzip. Returns 0 or -errno. */
int outfile_open(struct outfile *o, const char *path, int level, struct err *e);
void outfile_write(struct outfile *o, const void *bytes, size_t n);

/*
 * Gives the file its name. Returns 0 or -errno; after an error no file is left. Syncs the file to
 * disk unless another file was synced within the last 250 ms.
 */
int outfile_close(struct outfile *o, struct err *e);

/*
 * The same, never synced: for a file that is rewritten often while journals must be read. It is
 * still replaced as a whole, and after a crash of the machine it can be written again.
 */
int outfile_refresh(struct outfile *o, struct err *e);

/* Removes the unfinished file. */
void outfile_abandon(struct outfile *o);

/* Removes unfinished files of the dead process `pid` below `folder`. */
void outfile_sweep(const char *folder, pid_t pid);

/* Makes a folder and its parents, as mkdir -p does. Returns 0 or -errno. */
int make_folders(const char *path, struct err *e);

#endif
