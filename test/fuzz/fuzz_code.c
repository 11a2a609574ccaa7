/*
 * Code of the application: Python's bytecode and line tables, and machine code. The first bytes of
 * an input choose among versions and processors.
 */
#include "core/flow/flow.h"
#include "core/flow/landing_pads.h"
#include "core/source/journal/pylines.h"
#include "test/fuzz/fuzz.h"

#include <string.h>

enum { LOOPS_MOST = 16 };

/* Asks everything that there is to ask about the control flow, and frees it. */
static void ask(struct flow *f, uint64_t begin, size_t bytes)
{
	uint32_t loops[LOOPS_MOST];
	if (!f)
		return;
	for (uint64_t at = begin; at < begin + bytes; at += 1 + bytes / 16) {
		flow_loops_around(f, at, loops, LOOPS_MOST);
		flow_common_loop(f, begin, at);
		flow_is_forward(f, begin, at);
	}
	for (size_t i = 0; i < flow_n_loops(f) && i < LOOPS_MOST; i++) {
		const struct flow_site site = { .at = flow_loop_at(f, (uint32_t)i) };
		flow_is_always(f, (uint32_t)i, &site, 1);
	}
	flow_leaves(f);
	flow_free(f);
}

void fuzz_python(const uint8_t *data, size_t size)
{
	if (size < 4)
		return;
	unsigned version = 0x0308 + data[0] % 9; /* 3.8 to 3.16, which does not exist yet */
	enum line_table kind = (enum line_table)(data[1] % 4);
	size_t split = 4 + (data[2] | (size_t)data[3] << 8) % (size - 3);
	const uint8_t *table = data + split;
	const struct flow_bytecode code = { .code = data + 4,
					    .bytes = split - 4,
					    .exceptions = table,
					    .exceptions_bytes = size - split,
					    .version = version };
	ask(flow_of_python(&code), 0, split - 4);
	for (uint32_t at = 0; at < 200; at += 2)
		pylines_line(kind, table, size - split, 10, at);
	pylines_line(kind, table, size - split, 10, UINT32_MAX - 1);
}

struct constants {
	const uint8_t *at;
	size_t bytes;
	uint64_t address;
	struct landing_pads *pads;
};

static const uint8_t *constants_at(void *context, uint64_t address, size_t bytes)
{
	const struct constants *c = context;
	uint64_t offset = address - c->address;
	return offset < c->bytes && bytes <= c->bytes - offset ? c->at + offset : NULL;
}

static const uint8_t *bytes_from(void *context, uint64_t address, size_t *n)
{
	const struct constants *c = context;
	uint64_t offset = address - c->address;
	*n = offset < c->bytes ? c->bytes - offset : 0;
	return offset < c->bytes ? c->at + offset : NULL;
}

static uint64_t handler_at(void *context, uint64_t address)
{
	struct constants *c = context;
	return landing_pads_find(c->pads, address);
}

/* The latter half of the code is a moved part of the function. */
static bool moved(void *context, uint64_t address, struct flow_part *out)
{
	const struct constants *c = context;
	uint64_t half = c->bytes / 2;
	*out = (struct flow_part){ c->at + half, c->bytes - half, c->address + half };
	return address - c->address < c->bytes;
}

/* The same bytes are code, constants, and tables of exceptions. */
void fuzz_machine(const uint8_t *data, size_t size)
{
	if (size < 2)
		return;
	struct constants constants = { data, size, 0x1000, NULL };
	const struct landing_image image = { .frames = data + 1,
					     .frames_bytes = size - 1,
					     .frames_address = 0x1001,
					     .bytes_from = bytes_from,
					     .context = &constants };
	constants.pads = landing_pads_new(&image);
	const struct flow_code code = {
		.machine = data[0] & 1 ? FLOW_AARCH64 : FLOW_X86_64,
		.at = data + 1,
		.bytes = data[0] & 8 ? size - 1 : size / 2,
		.address = 0x1001,
		.constants = data[0] & 2 ? NULL : constants_at,
		.handler = handler_at,
		.moved = data[0] & 8 ? NULL : moved,
		.context = &constants,
	};
	ask(flow_of_machine_code(&code, data[0] & 4), code.address, code.bytes);
	landing_pads_free(constants.pads);
}
