/*
 * Opens an ELF file that the application had mapped, if it is still the same build. Maps the file,
 * so that only the parts that are read cost time and memory.
 */
#ifndef CORE_OBJECT_H
#define CORE_OBJECT_H

#include "core/source/journal/dict.h"

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

enum object_state {
	OBJECT_OPEN,
	OBJECT_NO_FILE, /* no absolute path, no such file, or not readable */
	OBJECT_CHANGED, /* another build than the one that was mapped */
	OBJECT_DAMAGED, /* not an ELF file, or a truncated one */
};

struct object {
	int fd;
	Elf *elf;
};

/* Returns the length of a mapped file's path, without what the kernel appends to it if the file was
 * replaced or deleted. */
size_t object_path_length(const char *path);

/*
 * Opens the file at `path` and checks that it is the build described by `m`. If the result is
 * OBJECT_OPEN, close `o` with object_close(); otherwise there is nothing to close.
 */
enum object_state object_open(struct object *o, const char *path, const struct module_entry *m);
void object_close(struct object *o);

/*
 * Returns `n` bytes of the loaded image at a virtual address of the file, or NULL if the file does
 * not contain them. They are valid until object_close().
 */
const uint8_t *object_bytes(const struct object *o, uint64_t address, size_t n);

/*
 * Returns the bytes of the loaded image from an address of the file on, up to the end of its
 * segment, and their number in `*n`. Returns NULL if the file does not contain them.
 */
const uint8_t *object_bytes_from(const struct object *o, uint64_t address, size_t *n);

/*
 * Returns the address of a section that is part of the loaded image, and its size in `*bytes`.
 * Returns 0 if there is none.
 */
uint64_t object_section_address(const struct object *o, const char *name, size_t *bytes);

/*
 * Returns a section's uncompressed size. Returns 0 if there is no such section or it has no
 * contents.
 */
uint64_t object_section_bytes(const struct object *o, const char *name);

/* Returns whether the section is compressed in the file. */
bool object_section_is_packed(const struct object *o, const char *name);

#endif
