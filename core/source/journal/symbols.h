/* The functions of one object, by address: .symtab where it has one, else .dynsym. Names stay mangled, in the file's mapping. */
#ifndef CORE_SYMBOLS_H
#define CORE_SYMBOLS_H

#include "core/source/journal/object.h"

struct symbols;

struct symbol {
	const char *name;
	uint64_t begin;
};

/* NULL where the object names no function. `o` must outlive it. */
struct symbols *symbols_new(const struct object *o);
void symbols_free(struct symbols *s);

/* The function whose size covers the address (a virtual address of the file); the nearest name below it would lie. */
bool symbols_find(const struct symbols *s, uint64_t address, struct symbol *out);

#endif
