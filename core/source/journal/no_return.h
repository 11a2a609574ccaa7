/*
 * Finds the functions of an object that never return, such as exit(): imported ones by their names,
 * its own ones by their machine code. No locks: one thread may use a struct no_return at a time.
 */
#ifndef CORE_NO_RETURN_H
#define CORE_NO_RETURN_H

#include "core/flow/flow.h"
#include "core/source/journal/symbols.h"

struct no_return;

/* `o` and `s` must outlive the result. */
struct no_return *no_return_new(const struct object *o, const struct symbols *s,
				enum flow_machine machine);
void no_return_free(struct no_return *x);

/*
 * Returns whether the function never returns, false if that is not certain. Addresses are those of
 * the file. Remembers its answers.
 */
bool no_return_is(struct no_return *x, struct flow_callee callee);

#endif
