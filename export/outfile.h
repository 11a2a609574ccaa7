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
	int fd, error;		      /* error: 0, or -errno of the first failure */
	int folder;		      /* the file's folder */
	char path[PATH_MAX];	      /* the whole path */
	char hidden[PATH_MAX];	      /* temporary name in the folder */
	struct z_stream_s *z;	      /* NULL: not compressed */
	uint8_t *packed;	      /* buffer for compressed bytes */
	uint64_t bytes_in, bytes_out; /* before and after compression */
};

/*
 * Opens a file and makes the missing folders of its path. `level`: 0 for a plain file, 1 to 9 for
 * gzip. Creates the file under a name that does not exist, follows no symbolic link in its place,
 * and refers to its folder by a descriptor. Locks the file, so that outfile_sweep() detects whether
 * the process that writes it is alive. Returns 0 or -errno.
 */
int outfile_open(struct outfile *o, const char *path, int level, struct err *e);
void outfile_write(struct outfile *o, const void *bytes, size_t n);

/* Changes the name that the file will have. `path` must be in the folder in which the file was
 * opened. A path that is too long is an error of the file. */
void outfile_rename(struct outfile *o, const char *path);

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

/* Gives the file its name, as outfile_rename() does, and finishes it. After an error elsewhere, or
 * if `path` is NULL, removes it instead. Returns `error`, or -errno with one line in `e`. */
int outfile_finish(struct outfile *o, const char *path, int error, struct err *e);

/* Closes and removes the unfinished file. */
void outfile_abandon(struct outfile *o);

/* Removes the unfinished files below the folder of a run that dead processes left: those of the
 * tool, and journals that were being created. */
void outfile_sweep(const char *folder);

/* Makes a folder and its parents, as mkdir -p does. Other users cannot write to a folder that this
 * makes. Returns 0 or -errno. */
int make_folders(const char *path, struct err *e);

/* Returns whether users other than this one, root and members of the folder's group can write to a
 * folder. */
bool others_can_write(const char *folder);

#endif
