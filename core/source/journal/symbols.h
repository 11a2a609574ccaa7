/*
 * Looks up the functions of one object by address. Uses .symtab, or .dynsym if .symtab has no
 * functions. The names are mangled and point into the mapped file.
 */
#ifndef CORE_SYMBOLS_H
#define CORE_SYMBOLS_H

#include "core/source/journal/object.h"

struct symbols;

struct symbol {
	const char *name;
	uint64_t begin, end;
	bool is_sized; /* the table contains its size; else `end` is a guess */
};

/* Returns NULL if the object has no function symbols. `o` must outlive the result. */
struct symbols *symbols_new(const struct object *o);
void symbols_free(struct symbols *s);

/*
 * Finds the function whose range contains `address`, a virtual address of the file. Returns false
 * if no function does: the nearest symbol below the address may belong to another function.
 */
bool symbols_find(const struct symbols *s, uint64_t address, struct symbol *out);

/*
 * Calls `take` with each function whose name is the first `length` bytes of `name`, until it
 * returns true. Looks through the whole table.
 */
void symbols_named(const struct symbols *s, const char *name, size_t length,
		   bool (*take)(void *context, const struct symbol *symbol), void *context);

#endif
