/*
 * Writes a ZIP archive, entry by entry, as a stream: the memory does not depend on its size. It
 * appears completely or not at all (outfile.h). Entries are compressed.
 */
#ifndef EXPORT_ZIP_H
#define EXPORT_ZIP_H

#include "export/outfile.h"

#include "core/util/vec.h"

#include <zlib.h>

struct zip_entry {
	char *name;
	uint64_t at, packed, bytes; /* at: offset of its header in the file */
	uint32_t crc;
};

struct zip {
	struct outfile out;
	VEC(struct zip_entry) entries;
	z_stream z;
	uint8_t *buffer;
	bool is_open; /* the last entry is being written */
};

/* Returns 0, or -errno with one line in `e`. */
int zip_open(struct zip *z, const char *path, struct err *e);

/* Begins an entry. The entry before must have ended. */
void zip_begin(struct zip *z, const char *name);
void zip_write(struct zip *z, const void *bytes, size_t n);
void zip_end(struct zip *z);
/* Removes the entry that is being written. */
void zip_drop(struct zip *z);

/* Finishes the archive. Returns 0, or -errno with one line in `e`. After an error there is no
 * file. */
int zip_close(struct zip *z, struct err *e);
/* Closes and removes the unfinished archive. */
void zip_abandon(struct zip *z);

#endif
