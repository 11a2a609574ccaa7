/*
 * Resolves native frames. Finds the object that contains an address and the function there. If the
 * object has debug information, also finds the source line and the functions inlined there.
 */
#ifndef CORE_NATIVE_H
#define CORE_NATIVE_H

#include "core/source/journal/dict.h"
#include "core/symbols/stack_source.h"
#include "core/util/strtab.h"

struct native;

/*
 * The texts of all results are stored in `texts`. `dict` and `texts` must outlive the returned
 * struct.
 */
struct native *native_new(const struct dict *dict, struct strtab *texts);
void native_free(struct native *n);

/*
 * Writes the functions of a frame, innermost first. Returns their number, at least 1. `is_return`:
 * the frame's offset is a return address.
 */
size_t native_find(struct native *n, uint64_t frame, bool is_return,
		   struct source_frame out[static STACK_INLINED_MOST]);

/* Returns one line about the i-th object that could not be read, NULL if there are no more. */
const char *native_diagnostic(const struct native *n, size_t i);

#endif
