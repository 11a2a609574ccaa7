/*
 * A file that appears completely or not at all: it is written under a temporary name, synced and
 * renamed. The content may be compressed with gzip. After an error, writes do nothing, and closing
 * the file returns that error.
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
	int fd, error;			       /* error: 0, or -errno of the first failure */
	char path[PATH_MAX], hidden[PATH_MAX]; /* final name and temporary name */
	struct z_stream_s *z;		       /* NULL: not compressed */
	uint8_t *packed;		       /* buffer for compressed bytes */
	uint64_t bytes_in, bytes_out;	       /* before and after compression */
};

/* Opens a file and makes the missing folders of its path. `level`: 0 for a plain file, 1 to 9 for
 * gzip. Returns 0 or -errno. */
int outfile_open(struct outfile *o, const char *path, int level, struct err *e);
void outfile_write(struct outfile *o, const void *bytes, size_t n);

/*
 * Finishes the file and renames it to its final name. Syncs it to disk first, unless another file
 * was synced within the last 250 ms. Returns 0 or -errno. After an error the unfinished file is
 * removed.
 */
int outfile_close(struct outfile *o, struct err *e);

/*
 * Like outfile_close(), but never syncs. For a file that is rewritten often while journals must be
 * read without delay. The file is still replaced as a whole, and after a crash of the machine it
 * can be made again.
 */
int outfile_refresh(struct outfile *o, struct err *e);

/* Closes and removes the unfinished file. */
void outfile_abandon(struct outfile *o);

/* Removes the unfinished files that the dead process `pid` left below `folder`. */
void outfile_sweep(const char *folder, pid_t pid);

/* Makes a folder and its parents, as mkdir -p does. Returns 0 or -errno. */
int make_folders(const char *path, struct err *e);

#endif
