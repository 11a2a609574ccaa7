/* Control flow of Python's bytecode. */
#include "core/flow/python.h"

#include <stdlib.h>

struct flow *flow_of_python(const uint8_t *code, size_t bytes, unsigned version)
{
	size_t n;
	struct flow_instruction *rows = python_instructions(code, bytes, version, &n);
	struct flow *f = rows ? flow_new(rows, n, false) : NULL;
	free(rows);
	return f;
}
