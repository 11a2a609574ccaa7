/*
 * A file that is there whole or not at all: written under another name, synced, renamed. Compressed with gzip on the way
 * where asked. The first error stays and is told at the end; until then writes are ignored.
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

/* `level`: 0 plain, 1 to 9 gzip. Makes missing folders. */
int outfile_open(struct outfile *o, const char *path, int level, struct err *e);
void outfile_write(struct outfile *o, const void *bytes, size_t n);

/* Puts it in its place; 0 or -errno, and nothing is left behind then. On the disk by then, if no other was within the last 250 ms. */
int outfile_close(struct outfile *o, struct err *e);

/* The same without waiting for the disk, for what is written again and again while the journals must be read: it is replaced as a
 * whole all the same, and can be made anew after a crash of the machine. */
int outfile_refresh(struct outfile *o, struct err *e);

/* Throws it away. */
void outfile_abandon(struct outfile *o);

/* Removes what process `pid`, which is dead, has not put in its place below `folder`. */
void outfile_sweep(const char *folder, pid_t pid);

/* mkdir -p. */
int make_folders(const char *path, struct err *e);

#endif
