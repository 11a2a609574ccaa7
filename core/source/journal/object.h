/*
 * Opens an ELF file that the application had mapped, if it is still the same build. It is mapped,
 * so only the parts that are read cost anything.
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
	OBJECT_CHANGED, /* not the file that was mapped */
	OBJECT_DAMAGED, /* not an ELF file, or a truncated one */
};

struct object {
	int fd;
	Elf *elf;
};

/* `path`: of the module. Only after OBJECT_OPEN it must be closed. */
enum object_state object_open(struct object *o, const char *path, const struct module_entry *m);
void object_close(struct object *o);

/* Returns `n` bytes of the file's image at a virtual address, NULL if they are not in the file. */
const uint8_t *object_bytes(const struct object *o, uint64_t address, size_t n);

/* Returns a section's uncompressed size; 0: there is no such section, or it has no contents. */
uint64_t object_section_bytes(const struct object *o, const char *name);

/* Returns whether it is compressed in the file. */
bool object_section_is_packed(const struct object *o, const char *name);

#endif
