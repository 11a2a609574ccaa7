/*
 * Reads bytecode from stdin and writes its instructions to stdout as core/flow/ decodes them.
 * test/prog/python_flow.py compares them with Python's module `dis`. In: version, bytes, bytecode.
 * Out: number of instructions, then of each its offset, target (-1: none) and whether the next one
 * may follow. All numbers are 32 bits.
 */
#include "core/flow/python.h"

#include <stdio.h>
#include <stdlib.h>

static void put(uint32_t value)
{
	fwrite(&value, sizeof(value), 1, stdout);
}

static void answer(const uint8_t *code, size_t bytes, uint32_t version)
{
	size_t n;
	struct flow_instruction *rows = python_instructions(code, bytes, version, &n);
	put((uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		put((uint32_t)rows[i].at);
		put((uint32_t)rows[i].target);
		put(rows[i].falls_through);
	}
	free(rows);
}

int main(void)
{
	uint32_t head[2];
	while (fread(head, sizeof(head), 1, stdin)) {
		/* exactly as large, so that a sanitizer notices a read outside it */
		uint8_t *code = malloc(head[1]);
		if (!code || fread(code, 1, head[1], stdin) != head[1])
			return 1;
		answer(code, head[1], head[0]);
		free(code);
	}
	return 0;
}
