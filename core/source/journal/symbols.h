/* The functions of one object by address, from .symtab, else from .dynsym. Names are mangled and
 * point into the file's mapping. */
#ifndef CORE_SYMBOLS_H
#define CORE_SYMBOLS_H

#include "core/source/journal/object.h"

struct symbols;

struct symbol {
	const char *name;
	uint64_t begin;
};

/* Returns NULL if the object has no function symbols. `o` must outlive the result. */
struct symbols *symbols_new(const struct object *o);
void symbols_free(struct symbols *s);

/* Finds the function whose size covers the address (a virtual address of the file). The nearest
 * symbol below it could be another function. */
bool symbols_find(const struct symbols *s, uint64_t address, struct symbol *out);

#endif
