/*
 * Native frames made readable: the object that an address lies in, the function, and where there is debug information the line and
 * the functions inlined there. Objects are opened when the first frame in them comes.
 */
#ifndef CORE_NATIVE_H
#define CORE_NATIVE_H

#include "core/source/journal/dict.h"
#include "core/symbols/stack_source.h"
#include "core/util/strtab.h"

struct native;

/* Texts are interned in `texts`. */
struct native *native_new(const struct dict *dict, struct strtab *texts);
void native_free(struct native *n);

/* What a frame of a stack stands for, innermost first; at least one. `is_return`: the offset is that of a return address. */
size_t native_find(struct native *n, uint64_t frame, bool is_return,
		   struct source_frame out[static STACK_INLINED_MOST]);

/* Objects that could not be looked into, one line each; NULL past the last. */
const char *native_diagnostic(const struct native *n, size_t i);

#endif
