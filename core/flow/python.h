/* The instructions of Python's bytecode. Used only by python*.c and by tests. */
#ifndef CORE_FLOW_PYTHON_H
#define CORE_FLOW_PYTHON_H

#include "core/flow/flow.h"

/*
 * Returns the instructions of the bytecode in order, without inline caches; see flow_of_python()
 * for the arguments. EXTENDED_ARG is an instruction of its own, as in Python's module `dis`. Stores
 * their number in `*n`. Returns NULL where flow_of_python() does. The caller frees the result.
 */
struct flow_instruction *python_instructions(const uint8_t *code, size_t bytes, unsigned version,
					     size_t *n);

/*
 * Sets where exceptions lead that the `n` instructions of the code raise: from the exception table
 * since 3.11, before that from the instructions that begin a `try` or a `with`. These no longer
 * jump then.
 */
void python_handlers(const struct flow_bytecode *code, struct flow_instruction *rows, size_t n);

#endif
