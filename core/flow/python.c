/* Control flow of Python's bytecode. */
#include "core/flow/python.h"

#include <stdlib.h>

struct flow *flow_of_python(const struct flow_bytecode *code)
{
	size_t n;
	struct flow_instruction *rows =
		python_instructions(code->code, code->bytes, code->version, &n);
	if (!rows)
		return NULL;
	python_handlers(code, rows, n);
	struct flow *f = flow_new(rows, n, false);
	free(rows);
	if (f)
		flow_join_copied_tests(f);
	return f;
}
