/*
 * Resolves native frames: the object that contains an address, the function and, with debug
 * information, the line and the functions inlined there. An object is opened at its first frame.
 */
#ifndef CORE_NATIVE_H
#define CORE_NATIVE_H

#include "core/source/journal/dict.h"
#include "core/symbols/stack_source.h"
#include "core/util/strtab.h"

struct native;

/* Results point into `texts`. */
struct native *native_new(const struct dict *dict, struct strtab *texts);
void native_free(struct native *n);

/* Writes the functions of a frame, innermost first, and returns how many, at least one.
 * `is_return`: the frame's offset is that of a return address. */
size_t native_find(struct native *n, uint64_t frame, bool is_return,
		   struct source_frame out[static STACK_INLINED_MOST]);

/* Returns one line about the i-th object that could not be read, NULL after the last. */
const char *native_diagnostic(const struct native *n, size_t i);

#endif
