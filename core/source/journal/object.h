/*
 * A file that the application had mapped, found again: it is believed only if it is the same build. Mapped, so only the parts
 * that are read cost anything.
 */
#ifndef CORE_OBJECT_H
#define CORE_OBJECT_H

#include "core/source/journal/dict.h"

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

enum object_state {
	OBJECT_OPEN,
	OBJECT_NO_FILE, /* no path, no such file, not readable */
	OBJECT_CHANGED, /* a file is there, but not the one that was mapped */
	OBJECT_DAMAGED, /* not an ELF file, or a torn one */
};

struct object {
	int fd;
	Elf *elf;
};

/* `path`: of the module. Anything but OBJECT_OPEN leaves nothing to close. */
enum object_state object_open(struct object *o, const char *path, const struct module_entry *m);
void object_close(struct object *o);

/* `n` bytes of the file's image at a virtual address, NULL where they are not in the file. */
const uint8_t *object_bytes(const struct object *o, uint64_t address, size_t n);

/* A section's size by name, uncompressed; 0: there is none with contents. */
uint64_t object_section_bytes(const struct object *o, const char *name);

/* Whether it is compressed in the file. */
bool object_section_is_packed(const struct object *o, const char *name);

#endif
