/*
 * Finds where Python's exceptions lead.
 *
 * Since 3.11, a table outside the bytecode has an entry for each range of instructions with the
 * same handler: begin, length, handler, and a depth of the value stack. These are numbers of 6 bits
 * a byte, highest bits first; bit 6 says that a further byte follows. Bit 7 marks the first byte of
 * an entry. Places are in units of two bytes. See Objects/exception_handling_notes.txt in CPython.
 *
 * Up to 3.10, SETUP_FINALLY and others put a handler on the frame's stack of blocks, and POP_BLOCK
 * takes it off. All paths to an instruction have the same blocks.
 */
#include "core/flow/python.h"

#include "core/util/bisect.h"
#include "core/util/vec.h"

enum { UNIT = 2, FIRST_WITH_TABLE = 11 };

/* ---- Since 3.11 ---- */

struct table {
	const uint8_t *at, *end;
};

/* Reads a number. Returns false at the end of the table, and if the number is too large. */
static bool read_number(struct table *t, uint64_t *out)
{
	enum { MORE = 0x40, BITS = 6, BYTES_MOST = 5 };
	*out = 0;
	for (int i = 0; i < BYTES_MOST && t->at < t->end; i++) {
		uint8_t byte = *t->at++;
		*out = *out << BITS | (byte & (MORE - 1));
		if (!(byte & MORE))
			return true;
	}
	return false;
}

static size_t row_at(const struct flow_instruction *rows, size_t n, uint64_t place)
{
	return bisect(n, i, rows[i].at < place);
}

static void read_table(const struct flow_bytecode *code, struct flow_instruction *rows, size_t n)
{
	struct table t = { code->exceptions, code->exceptions + code->exceptions_bytes };
	uint64_t begin, length, handler, depth;
	while (read_number(&t, &begin) && read_number(&t, &length) && read_number(&t, &handler) &&
	       read_number(&t, &depth)) {
		size_t to = row_at(rows, n, UNIT * handler);
		if (to == n || rows[to].at != UNIT * handler)
			return;
		for (size_t i = row_at(rows, n, UNIT * begin);
		     i < n && rows[i].at < UNIT * (begin + length); i++)
			rows[i].handler = rows[to].at;
	}
}

/* ---- Up to 3.10 ---- */

/* The same numbers in 3.8, 3.9 and 3.10. */
enum { POP_BLOCK = 87, SETUP_FINALLY = 122, SETUP_WITH = 143, SETUP_ASYNC_WITH = 154 };

/* A handler and the blocks below it. */
struct block {
	uint64_t handler;
	size_t below; /* index of a block; 0: none */
};

struct walk {
	const struct flow_bytecode *code;
	struct flow_instruction *rows;
	size_t n;
	size_t *block_of; /* of an instruction: the block around it + 1; 0: not reached yet */
	VEC(struct block) blocks;
	VEC(size_t) todo;
};

static void visit(struct walk *w, size_t row, size_t block)
{
	if (row >= w->n || w->block_of[row])
		return;
	w->block_of[row] = block + 1;
	vec_push(&w->todo, row);
}

static void follow(struct walk *w, size_t row)
{
	struct flow_instruction *i = &w->rows[row];
	uint8_t op = w->code->code[i->at];
	size_t block = w->block_of[row] - 1;
	i->handler = w->blocks.at[block].handler;
	if (i->target != FLOW_NO_TARGET)
		visit(w, row_at(w->rows, w->n, i->target), block);
	if (op == SETUP_FINALLY || op == SETUP_WITH || op == SETUP_ASYNC_WITH) {
		struct block inner = { i->target, block };
		block = w->blocks.n;
		vec_push(&w->blocks, inner);
		i->target = FLOW_NO_TARGET;
	} else if (op == POP_BLOCK) {
		block = w->blocks.at[block].below;
	}
	if (i->falls_through)
		visit(w, row + 1, block);
}

static void follow_blocks(const struct flow_bytecode *code, struct flow_instruction *rows, size_t n)
{
	struct walk w = { .code = code, .rows = rows, .n = n };
	w.block_of = mem_zero(n * sizeof(*w.block_of));
	vec_push(&w.blocks, ((struct block){ 0 }));
	visit(&w, 0, 0);
	while (w.todo.n > 0)
		follow(&w, w.todo.at[--w.todo.n]);
	free(w.block_of);
	vec_free(&w.blocks);
	vec_free(&w.todo);
}

void python_handlers(const struct flow_bytecode *code, struct flow_instruction *rows, size_t n)
{
	if ((code->version & 0xff) >= FIRST_WITH_TABLE)
		read_table(code, rows, n);
	else
		follow_blocks(code, rows, n);
}
